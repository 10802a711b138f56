"""Kernels are compiled once, never stale, and also where nothing can be written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sekgnn.kernel
from sekgnn.errors import OutputError
from sekgnn.files import check_private
from sekgnn.kernel import PACKAGE, SOURCES, clock, compile_seconds, cpu_clock, kernel


@kernel
def halve(x: int) -> float:
    return x / 2


def run(code: str, cache: Path, *path: Path, **more: str) -> tuple[str, str]:
    """Run Python with a cache folder and variables; return what it printed."""
    search_path = [*map(str, path), str(PACKAGE.parent)]
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")
    }
    environment = inherited | {
        "SEKGNN_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join(search_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


def test_kernels_live_only_where_the_cache_looks() -> None:
    """A kernel in another room would not notice changes there."""
    hashed = {path for glob in SOURCES for path in PACKAGE.glob(glob)}
    users = {p for p in PACKAGE.rglob("*.py") if "import kernel\n" in p.read_text()}
    assert not users - hashed
    for path in PACKAGE.rglob("*.py"):
        if path.name != "kernel.py":
            assert "njit" not in path.read_text(), path


def test_a_changed_callee_in_another_file_is_seen(tmp_path: Path) -> None:
    """Numba's own cache keeps a caller whose callee has changed."""
    package = tmp_path / "two"
    package.mkdir()
    (package / "__init__.py").touch()
    callee, caller = package / "callee.py", package / "caller.py"
    text = "from sekgnn.kernel import kernel\n"
    caller.write_text(
        f"{text}from two.callee import f\n@kernel\ndef g(x):\n    return f(x)\n"
    )
    code = (
        "import sekgnn.kernel as k\nfrom two.caller import g\n"
        "print(g(5), k.compile_seconds() > 0)"
    )
    for factor, compiles in ((2, True), (2, False), (3, True), (3, False)):
        callee.write_text(f"{text}@kernel\ndef f(x):\n    return x * {factor}\n")
        out, _ = run(code, tmp_path / "cache", tmp_path)
        assert out == f"{5 * factor} {compiles}"


def test_the_package_is_one_source(tmp_path: Path) -> None:
    """Kernel rooms decide the folder, other rooms and the place of the code do not."""
    code = "from sekgnn.kernel import kernel_folder; print(kernel_folder())"

    def folder(name: str, *edited: str) -> str:
        copy = tmp_path / name / "sekgnn"
        for path in PACKAGE.rglob("*.py"):
            target = copy / path.relative_to(PACKAGE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        for file_name in edited:
            with (copy / file_name).open("a") as file:
                file.write("# changed\n")
        return run(code, tmp_path / "cache", copy.parent)[0]

    plain = folder("a")
    assert folder("b", "cli/main.py", "training/run.py", "nn/__init__.py") == plain
    assert folder("c", "graphs/twins.py") != plain


def test_nothing_can_be_written(tmp_path: Path) -> None:
    """Without a cache everything works, and the note says why it takes so long."""
    (tmp_path / "file").touch()
    code = textwrap.dedent(
        """
        import numpy as np
        from sekgnn.graphs import path_graph
        from sekgnn.graphs.twins import find_twins
        twin_of = np.zeros(2, np.int32)
        find_twins(path_graph(2).csr, 0, 2, twin_of)
        print(twin_of.tolist())
        """
    )
    out, message = run(code, tmp_path / "file" / "below")
    assert out == "[0, 0]"
    assert message.startswith(
        "compiling kernels; they cannot be kept: set SEKGNN_CACHE"
    )
    out, message = run(code, tmp_path / "fine")
    assert out == "[0, 0]"
    assert message.startswith("compiling kernels (graphs, ...), each once per")
    assert run(code, tmp_path / "fine") == ("[0, 0]", "")


SCRAMBLE = (
    "import numpy as np; from sekgnn.digest import scramble\n"
    "print(scramble(np.uint64(1)))"
)
posix = pytest.mark.skipif(os.name != "posix", reason="modes say nothing elsewhere")


class Planted:
    """What somebody else would like to be run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("planted",)


def compiled_files(cache: Path) -> list[Path]:
    """Return the files of compiled code, without the note that it was announced."""
    files = (cache / "kernels").glob("*/*")
    return [file for file in files if file.suffix != ".announced"]


def planted(cache: Path) -> Path:
    """Fill a cache, and put other code into the only file."""
    run(SCRAMBLE, cache)
    (file,) = compiled_files(cache)
    content = pickle.dumps(Planted())
    file.write_bytes(content)
    assert "planted" in run(SCRAMBLE, cache)[0]  # mine, so it is believed
    file.write_bytes(content)
    return file


@posix
def test_nobody_else_sees_what_is_kept(tmp_path: Path) -> None:
    """Whatever the umask."""
    before = os.umask(0)
    try:
        run(SCRAMBLE, tmp_path / "a" / "cache")
    finally:
        os.umask(before)
    paths = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert len(paths) == 6
    for path in paths:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


@posix
@pytest.mark.parametrize("level", ["cache", "kernels", "subfolder"])
@pytest.mark.parametrize("by", ["mode", "link"])
def test_what_others_could_plant_is_not_run(
    tmp_path: Path, level: str, by: str
) -> None:
    """From the file up to the root of the cache; and what links point to."""
    cache = tmp_path / "cache"
    file = planted(cache)
    paths = {"cache": cache, "kernels": cache / "kernels", "subfolder": file.parent}
    loose = paths[level]
    if by == "link":
        loose = loose.rename(tmp_path / "elsewhere")
        paths[level].symlink_to(loose)
        assert "planted" in run(SCRAMBLE, cache)[0]
        file.write_bytes(pickle.dumps(Planted()))
    loose.chmod(0o777)
    out, message = run(SCRAMBLE, cache)
    assert "planted" not in out
    assert "can be written to by others" in message
    assert f"remove {cache / 'kernels'} ('rm -r {cache / 'kernels'}')" in message
    assert ("chmod go-w" in message) == (level == "cache")
    assert file.read_bytes() == pickle.dumps(Planted())  # nothing is kept there


@posix
def test_a_planted_file_is_replaced(tmp_path: Path) -> None:
    """The folder may have been open to others before, and is no more."""
    file = planted(tmp_path)
    file.chmod(0o666)
    assert "planted" not in run(SCRAMBLE, tmp_path)[0]
    assert file.stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.write_bytes(pickle.dumps(Planted()))
    file.unlink()
    file.symlink_to(other)
    assert "planted" not in run(SCRAMBLE, tmp_path)[0]
    assert not file.is_symlink() and other.read_bytes() == pickle.dumps(Planted())


@posix
def test_what_belongs_to_others_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its mode: a folder, a link, or a file."""
    file = planted(tmp_path)
    me = os.geteuid()
    check_private(file, tmp_path)
    assert sekgnn.kernel._read_private(file)
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)  # all is somebody else's
    if me == 0:  # what root has written is believed
        for path in (tmp_path, *tmp_path.rglob("*")):
            os.chown(path, 4321, 4321)
    with pytest.raises(OutputError, match="belongs to somebody else"):
        check_private(file, tmp_path)
    with pytest.raises(OutputError, match="somebody else's"):
        sekgnn.kernel._read_private(file)


def test_kernels_that_check_bounds_are_kept_apart(tmp_path: Path) -> None:
    """`make boundscheck` would test nothing with those that do not, and slow later."""
    code = textwrap.dedent(
        """
        import numpy as np
        from sekgnn.kernel import kernel_folder
        from sekgnn.encoding.node_ranges import near_range
        from sekgnn.graphs.graph import CsrGraph
        # two nodes; what lies behind the arrays, for those that look, is harmless
        rows, entries = np.array([0, 1, 2, 2, 2])[:3], np.array([1, 2, 0, 0], np.int32)
        graph = CsrGraph(rows, entries[:2])
        try:
            near_range(graph, 0, 1, 2, np.full(9, -1, np.int16)[:2])
            print("read")
        except IndexError:
            print("refused")
        print(kernel_folder().name)
        """
    )
    folders = []
    for flag in ("0", "1", "0", "1"):
        words = run(code, tmp_path, NUMBA_BOUNDSCHECK=flag)[0].split()
        assert words[0] == ["read", "refused"][int(flag)]
        folders.append(words[1])
    assert folders[:2] == folders[2:] and len(set(folders)) == 2


def test_a_damaged_file_is_compiled_again(tmp_path: Path) -> None:
    code = SCRAMBLE
    before, _ = run(code, tmp_path)
    (file,) = compiled_files(tmp_path)
    for damage in (b"", file.read_bytes()[:-100], b"\x80nonsense"):
        file.write_bytes(damage)
        assert run(code, tmp_path)[0] == before
    assert compiled_files(tmp_path) == [file]


def test_clock_stands_still_while_compiling() -> None:
    begin, compiled, at = time.perf_counter(), compile_seconds(), clock()
    assert halve(3) == 1.5
    assert halve(3.0) == 1.5  # type: ignore[arg-type]
    took, compiled = time.perf_counter() - begin, compile_seconds() - compiled
    assert clock() - at == pytest.approx(took - compiled, abs=1e-3)


def test_processor_time_without_compiling() -> None:
    namespace: dict[str, Any] = {}
    exec("def twice(x): return 2 * x", namespace)  # typed in: it is in no cache
    twice = kernel(namespace["twice"])
    assert twice._outer is not None  # numba is loaded before the clock starts
    begin, compiled, at = time.process_time(), compile_seconds(), cpu_clock()
    assert twice(3) == 6
    assert compile_seconds() > compiled
    assert 0 <= cpu_clock() - at < (time.process_time() - begin) / 2


def test_division_follows_numpy() -> None:
    @kernel
    def divide(x: float, y: float) -> float:
        return x / y

    assert np.isinf(divide(1.0, 0.0))


def test_old_folders_are_removed(tmp_path: Path) -> None:
    """The last used stay, and so does what may be in use."""
    now = time.time()
    for age in range(12):
        (tmp_path / str(age)).mkdir()
        os.utime(tmp_path / str(age), (now, now - 400 * age))
    sekgnn.kernel._prune(tmp_path)
    assert sorted(int(p.name) for p in tmp_path.iterdir()) == list(range(9))

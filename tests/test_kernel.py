"""Kernels are compiled once, never stale, and also where nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sekgnn.kernel
from sekgnn.kernel import PACKAGE, SOURCES, clock, compile_seconds, cpu_clock, kernel


@kernel
def halve(x: int) -> float:
    return x / 2


def run(code: str, cache: Path, *path: Path) -> tuple[str, str]:
    """Run Python with a cache folder; return what it printed."""
    places = [*map(str, path), str(PACKAGE.parent)]
    known = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    environment = known | {
        "SEKGNN_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


def test_kernels_live_only_where_the_cache_looks() -> None:
    """A kernel in another room would not notice changes there."""
    known = {path for glob in SOURCES for path in PACKAGE.glob(glob)}
    users = {p for p in PACKAGE.rglob("*.py") if "import kernel\n" in p.read_text()}
    assert not users - known
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
    out, said = run(code, tmp_path / "file" / "below")
    assert out == "[0, 0]"
    assert said.startswith("compiling kernels; they cannot be kept: set SEKGNN_CACHE")
    out, said = run(code, tmp_path / "fine")
    assert (out, said) == ("[0, 0]", "compiling kernels, once per installation ...")
    assert run(code, tmp_path / "fine") == ("[0, 0]", "")


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing elsewhere")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    """What is in it would be run."""
    code = (
        "import numpy as np; from sekgnn.digest import scramble\n"
        "print(scramble(np.uint64(1)))"
    )
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    _, said = run(code, tmp_path)
    assert "can be written to by others" in said and "chmod go-w" in said
    assert not list((tmp_path / "kernels").iterdir())


def test_a_damaged_file_is_compiled_again(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from sekgnn.digest import scramble\n"
        "print(scramble(np.uint64(1)))"
    )
    before, _ = run(code, tmp_path)
    (file,) = (tmp_path / "kernels").glob("*/*")
    for damage in (b"", file.read_bytes()[:-100], b"\x80nonsense"):
        file.write_bytes(damage)
        assert run(code, tmp_path)[0] == before
    assert [p.name for p in (tmp_path / "kernels").glob("*/*")] == [file.name]


def test_clock_stands_still_while_compiling() -> None:
    begin, compiled, at = time.perf_counter(), compile_seconds(), clock()
    assert halve(3) == 1.5
    assert halve(3.0) == 1.5  # type: ignore[arg-type]
    took, compiled = time.perf_counter() - begin, compile_seconds() - compiled
    assert clock() - at == pytest.approx(took - compiled, abs=1e-3)


def test_processor_time_without_compiling() -> None:
    known: dict[str, Any] = {}
    exec("def twice(x): return 2 * x", known)  # typed in: it is in no cache
    twice = kernel(known["twice"])
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

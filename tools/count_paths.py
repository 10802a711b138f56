"""Count the rooms of the package, and the code that common commands pass.

``python tools/count_paths.py`` prints tables for ``docs/architecture.md``: files and
lines of every room and its tests; then files, functions and containers passed by each
command, run in a separate process on a small file. ``python tools/count_paths.py
rooms`` prints only the first. A function counts if it runs, not if it is imported; a
file if one of its functions runs; a crossing is a pair of functions of different rooms
of which one calls the other. Containers hold data: dataclasses, named tuples, our
classes with a length or an iterator, and PyG's ``Data``.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

ROWS = 60
COMMANDS = {
    "wl": ["wl", "rook:4", "shrikhande"],
    "encode": ["encode", "small.csv", "--smiles", "smiles", "-o", "small.npz"],
    "train": ["train", "small.csv", "--smiles", "smiles", "--target", "cv",
              "--epochs", "1", "--output", "run"],
    "predict": ["predict", "run", "small.csv", "--output", "predictions.csv"],
}  # fmt: skip
NEITHER = ("sekgnn.parameters", "sekgnn.cli", "sekgnn.errors")  # no data of a user
_FUNCTION = 0x1  # flag of code that is a function's, not a module's or a class's


class Counter:
    """Traces calls in all threads."""

    def __init__(self, package: Path) -> None:
        self.package = f"{package}/"
        self.functions: set[tuple[str, str]] = set()
        self.crossings: set[tuple[tuple[str, str], tuple[str, str]]] = set()
        self.classes: set[type] = set()

    def start(self) -> None:
        """Trace this thread and later ones."""
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Record a call."""
        if event != "call":
            return
        self._note_instance(frame)
        function = self._function(frame)
        if function is None:
            return
        if function not in self.functions:
            if self._is_import(frame):
                return
            self.functions.add(function)
        caller = frame.f_back
        while caller is not None and (before := self._function(caller)) is None:
            caller = caller.f_back
        if caller is not None and room(before[0]) != room(function[0]):
            self.crossings.add((before, function))

    def _function(self, frame: FrameType) -> tuple[str, str] | None:
        code = frame.f_code
        if not code.co_filename.startswith(self.package):
            return None
        if not code.co_flags & _FUNCTION or code.co_name.startswith("<"):
            return None
        return code.co_filename[len(self.package) :], code.co_qualname

    def _is_import(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>":
                return frame.f_code.co_filename.startswith(self.package)
            frame = frame.f_back
        return False

    def _note_instance(self, frame: FrameType) -> None:
        code = frame.f_code
        if code.co_varnames[:1] == ("_cls",):  # of a named tuple
            kind = frame.f_locals["_cls"]
        elif code.co_name == "__init__" and "self" in frame.f_locals:
            kind = type(frame.f_locals["self"])
        else:
            return
        if kind not in self.classes and not self._is_import(frame):
            self.classes.add(kind)

    def containers(self) -> list[str]:
        """Return the names of the containers."""
        return sorted({kind.__name__ for kind in self.classes if holds_data(kind)})


def room(file: str) -> str:
    """Return the room of a file; top-level files are the core."""
    return file.partition("/")[0] if "/" in file else "core"


def holds_data(kind: type) -> bool:
    """Return whether a class is a container, ours or PyG's."""
    module = kind.__module__
    if module.startswith("torch_geometric.data"):
        return hasattr(kind, "to_dict") and not kind.__name__.endswith("Storage")
    if not module.startswith("sekgnn.") or module.startswith(NEITHER):
        return False
    bases = {base.__name__ for base in kind.__mro__}
    if bases & {
        "Module",
        "Named",
        "BaseException",
        "RunConfig",
        "ReadOptions",
        "ModelOptions",
        "Registry",
    }:
        return False
    many = hasattr(kind, "__len__") or hasattr(kind, "__iter__")
    return dataclasses.is_dataclass(kind) or many


def run(name: str) -> None:
    """Run one command, and print its counts as JSON."""
    import sekgnn
    from sekgnn.cli.main import app

    counter = Counter(Path(sekgnn.__file__).parent)
    counter.start()
    try:
        app(COMMANDS[name], standalone_mode=False)
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    files = {file for file, _ in counter.functions}
    counts = {
        "files": len(files),
        "functions": len(counter.functions),
        "rooms": len({room(file) for file in files}),
        "crossings": len(counter.crossings),
        "containers": counter.containers(),
    }
    print(f"\nCOUNTED {json.dumps(counts)}")


def small_table(path: Path) -> None:
    """Write the first molecules of the package's example."""
    from importlib.resources import files

    text = files("sekgnn.datasets").joinpath("molecules.csv").read_text("utf-8")
    rows = list(csv.reader(text.splitlines()))[: ROWS + 1]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the numbers of Python files and of their lines by room."""
    counts: dict[str, tuple[int, int]] = {}
    for path in folder.rglob("*.py"):
        name = room(path.relative_to(folder).as_posix())
        files, lines = counts.get(name, (0, 0))
        counts[name] = files + 1, lines + len(path.read_text("utf-8").splitlines())
    return counts


def print_rooms() -> None:
    """Print files and lines of every room and of its tests, the largest room first."""
    root = Path(__file__).resolve().parents[1]
    source, tests = sizes(root / "src" / "sekgnn"), sizes(root / "tests")
    rows = {
        name: [*source.get(name, (0, 0)), *tests.get(name, (0, 0))]
        for name in sorted({**source, **tests})
    }
    rows = dict(sorted(rows.items(), key=lambda item: -item[1][1]))
    rows["sum"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    print("| room | files | lines | files of tests | lines of tests |")
    print("|---|---:|---:|---:|---:|")
    for name, numbers in rows.items():
        print(f"| `{name}` | {' | '.join(f'{number:,}' for number in numbers)} |")


def main() -> None:
    """Print the tables."""
    print_rooms()
    print("\n| command | files | functions | rooms | crossings | containers |")
    print("|---|---:|---:|---:|---:|---:|")
    lists = []
    containers: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        small_table(Path(folder) / "small.csv")
        for name, words in COMMANDS.items():
            done = subprocess.run(
                [sys.executable, str(Path(__file__).resolve()), name],
                cwd=folder, capture_output=True, text=True,
            )  # fmt: skip
            if "COUNTED" not in done.stdout:
                raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
            passed = json.loads(done.stdout.rpartition("COUNTED ")[2])
            names = passed.pop("containers")
            counts = " | ".join(map(str, [*passed.values(), len(names)]))
            print(f"| `{' '.join(words[:3])}` | {counts} |")
            lists.append(f"{name}: {', '.join(names)}.")
            containers |= set(names) if name in ("train", "predict") else set()
    print(f"\nFrom a row to its prediction: {len(containers)} containers.\n")
    print("\n".join(lists))


if __name__ == "__main__":
    if sys.argv[1:] == ["rooms"]:
        print_rooms()
    elif len(sys.argv) > 1:
        run(sys.argv[1])
    else:
        main()

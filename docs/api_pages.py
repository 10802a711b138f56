"""The API pages: one per room, made from its ``__all__`` and its docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

ROOMS = (
    "sekgnn",
    "sekgnn.graphs",
    "sekgnn.hops",
    "sekgnn.walks",
    "sekgnn.encoding",
    "sekgnn.wl",
    "sekgnn.transforms",
    "sekgnn.nn",
    "sekgnn.models",
    "sekgnn.datasets",
    "sekgnn.training",
    "sekgnn.estimators",
    "sekgnn.search",
    "sekgnn.brec",
    "sekgnn.paper",
    "sekgnn.testing",
)
"""Modules with public names: the package, and its rooms from mathematics upwards."""

SECTIONS = (
    ("Functions", "function"),
    ("Classes", "class"),
    ("Errors and warnings", "exception"),
    ("Constants and choices", "data"),
)
NOT_OURS = "set_fit_request, set_predict_request, set_score_request"  # scikit-learn's


@cache
def public(room: str) -> dict[str, Any]:
    """Return the public names of a room and their values, without rooms below it."""
    module = import_module(room)
    values = {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in values.items()
        if not inspect.ismodule(value) and name != "__version__"
    }


@cache
def _imports(module: str) -> dict[str, str]:
    """Return the module that each name which a module imports comes from."""
    return {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(ast.parse(inspect.getsource(import_module(module))))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def defining(module: str, name: str) -> str:
    """Return the module in which a name that a module offers is defined."""
    while name in _imports(module):
        module = _imports(module)[name]
    return module


def home(room: str, name: str) -> str:
    """Return the room on whose page a public name of a room is described."""
    own = ".".join(defining(room, name).split(".")[:2])
    return own if own in ROOMS and name in public(own) else room


def described(room: str) -> dict[str, Any]:
    """Return the names and values that the page of a room describes."""
    return {n: value for n, value in public(room).items() if home(room, n) == room}


def docstring(room: str, name: str) -> str:
    """Return the docstring of a public name; that of a constant is below it."""
    value = public(room)[name]
    if kind(value) != "data":
        return inspect.getdoc(value) or ""
    analyzer = ModuleAnalyzer.for_module(defining(room, name))
    analyzer.analyze()
    return "\n".join(analyzer.attr_docs.get(("", name), ())).strip()


def kind(value: object) -> str:
    """Return what a value is, as autodoc's directives call it."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def page(room: str) -> str:
    """Return the page of a room: a table of each kind of names, then all of them."""
    values = described(room)
    lines = [room, "=" * len(room), "", f".. automodule:: {room}", "   :no-members:"]
    lines += ["", f".. currentmodule:: {room}", ""]
    elsewhere = {name: home(room, name) for name in public(room) if name not in values}
    if elsewhere:
        lines += ["Names of other rooms", "-" * 20, ""]
        for other in sorted(set(elsewhere.values()), key=ROOMS.index):
            names = [name for name, place in elsewhere.items() if place == other]
            links = ", ".join(f":py:obj:`{name} <{other}.{name}>`" for name in names)
            lines += [f"* :doc:`{other.partition('.')[2]}`: {links}"]
        lines += [""]
    for title, chosen_kind in SECTIONS:
        chosen = [name for name in values if kind(values[name]) == chosen_kind]
        if not chosen:
            continue
        lines += [title, "-" * len(title), ""]
        if chosen_kind != "data":
            lines += [".. autosummary::", "   :nosignatures:", ""]
            lines += [*(f"   {name}" for name in chosen), ""]
        for name in chosen:
            lines += [f".. auto{chosen_kind}:: {name}"]
            lines += [f"   {option}" for option in _options(values[name])] + [""]
    return "\n".join(lines)


def _options(value: object) -> Iterator[str]:
    """Yield the options of autodoc's directive for a value."""
    if kind(value) == "data" and len(repr(value)) > 160:
        yield ":no-value:"
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return
    yield ":members:"
    yield ":show-inheritance:"
    known = [known for room in ROOMS for known in public(room).values()]
    bases = value.__mro__[1:]
    ours = [base for base in bases if base.__module__.startswith("sekgnn")]
    if hidden := [base for base in ours if base not in known]:
        # what a base without an entry of its own brings is described here
        others = [base.__name__ for base in bases if base not in hidden]
        yield f":inherited-members: {', '.join(others)}"
        yield f":exclude-members: {NOT_OURS}"


def write(folder: Path) -> None:
    """Write the pages that have changed, so that a second build is quick."""
    folder.mkdir(exist_ok=True)
    for room in ROOMS:
        path = folder / f"{room.removeprefix('sekgnn.')}.rst"
        if not path.exists() or path.read_text("utf-8") != page(room):
            path.write_text(page(room), "utf-8")


def mend(
    app: Any, what: str, name: str, value: object, options: Any, lines: list[str]
) -> None:
    """Give a constant the docstring below it; escape ``np.bool_`` in types."""
    if what == "data":
        lines[:] = [*docstring(*name.rsplit(".", 1)).splitlines(), ""]
    lines[:] = [
        line.replace("_]", r"\_]") if line.startswith(":vartype") else line
        for line in lines
    ]


def resolve(app: Any, env: Any, node: Any, child: nodes.Node) -> nodes.Node | None:
    """Link a name of a module inside a room to where the room describes it."""
    if node.get("refdomain") != "py":
        return None
    module, _, name = str(node["reftarget"]).rpartition(".")
    if module and not module.startswith("sekgnn"):
        return None
    near = ".".join((module or str(node.get("py:module"))).split(".")[:2])
    for room in (near, *ROOMS):
        entry = env.domains["py"].objects.get(f"{room}.{name}")
        if entry is not None:
            place = (node["refdoc"], entry.docname, entry.node_id)
            return make_refnode(app.builder, *place, child)
    return None

"""Packages that load names on first use (PEP 562)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package with lazy names.

    The names are those that its ``__init__`` imports under ``if TYPE_CHECKING:``, so
    type checkers and this function read the same list. Nothing is imported, nor is the
    list read, before a name is first used.
    """
    homes: dict[str, tuple[str, str]] = {}

    def load(name: str) -> Any:
        """Load a public name when it is first used."""
        if not homes:
            homes.update(_homes(package))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, attribute = homes[name]
        if home == package:  # a module of the package
            return import_module(f"{package}.{attribute}")
        value = getattr(import_module(home), attribute)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        """List the public names, loaded or not."""
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return load, names


def _homes(package: str) -> dict[str, tuple[str, str]]:
    """Return the module of each lazy name of a package, and its name there."""
    spec = find_spec(package)
    source = getattr(spec and spec.loader, "get_source")(package)  # noqa: B009
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

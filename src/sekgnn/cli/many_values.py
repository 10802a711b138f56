"""Options that take several values after one flag: ``--radius 1 2 3``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

_WORDS = {  # the lists of an option's values
    "--scope": ["encoding.walk_encoding:SCOPES"],
    "--parts": ["wl.encodings.walks:PARTS"],
    "--encoding": ["wl.by_name:EXACT_ENCODINGS", "encoding.substructure:ENCODINGS"],
    "--patterns": ["encoding.patterns:PATTERNS"],
    "--category": ["datasets.brec:CATEGORIES"],
}
_PAIRS = ("--encoding-options", "--model-options", "--grid")  # name=value
_OPEN = (
    "--target", "--metric", "--columns", "--split-by", "--features", "--only",
    "--arrays",
)  # fmt: skip
_NUMBERS = ("--radius",)


class _Option(TyperOption):
    """An option that shows a default in words like any other, without brackets."""

    def _get_default_string(self, *, show_default_is_str: bool, **more: Any) -> str:
        if show_default_is_str:
            return str(self.show_default)
        return super()._get_default_string(show_default_is_str=False, **more)


class ManyValuesCommand(TyperCommand):
    """A command in which a repeatable option may list its values after one flag.

    Only further values that belong to the option are taken, so that an argument may
    follow: in ``--scope graph internal rook:4`` the last word is an argument. Where
    any word can be a value, arguments must come first: ``data.csv --target a b``.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, all defaults in one style.

        A function with an attribute ``complete`` is replaced by what that returns: the
        same function with flags that are known only when the command is used.
        """
        complete = getattr(self.callback, "complete", None)
        if complete is not None:
            app = typer.Typer(add_completion=False)
            app.command()(complete())
            whole: Any = typer.main.get_command(app)
            self.params, self.callback = whole.params, whole.callback
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if isinstance(param, TyperOption):
                param.__class__ = _Option
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the flag before each further value, then parse as usual."""
        repeatable = {
            flag
            for param in self.get_params(ctx)
            if getattr(param, "multiple", False) and not param.is_flag
            for flag in param.opts
        }
        return super().parse_args(ctx, repeat_flags(args, repeatable))


def repeat_flags(args: list[str], repeatable: set[str]) -> list[str]:
    """Return ``args`` with the flag repeated before each value of an option.

    Example:
        >>> repeat_flags(["--radius", "1", "2", "--num-hops", "3"], {"--radius"})
        ['--radius', '1', '--radius', '2', '--num-hops', '3']
    """
    out: list[str] = []
    flag = ""  # the option whose values may still go on
    expects = False
    arguments_first = bool(args) and not args[0].startswith("-")
    for i, arg in enumerate(args):
        if expects:
            expects = False
        elif arg == "--":
            return out + args[i:]
        elif arg in repeatable:
            flag, expects = arg, True
        elif flag and _is_value(flag, arg, arguments_first):
            out.append(flag)
        else:
            flag = ""
        out.append(arg)
    return out


def _is_value(flag: str, arg: str, arguments_first: bool) -> bool:
    """Tell whether ``arg`` can be a further value of the option."""
    if flag in _PAIRS:
        return "=" in arg and not arg.startswith("-")
    if flag in _OPEN:
        return arguments_first and not arg.startswith("-")
    if flag in _NUMBERS:
        return arg.isascii() and arg.isdigit()
    return any(arg in _words(source) for source in _WORDS.get(flag, ()))


def _words(source: str) -> Any:
    module, name = source.split(":")
    return getattr(import_module(f"sekgnn.{module}"), name)

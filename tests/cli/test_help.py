"""Every option of every command says in a phrase what it is, in one style."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import typer
from typer.core import TyperGroup, TyperOption

from sekgnn.cli.main import app

_ONE_WORDING = (
    "--json", "--quiet", "--data-root", "--smiles", "--add-hydrogens",
    "--skip-invalid", "--undirected", "--config",
)  # fmt: skip


def _commands() -> Mapping[str, Any]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group.commands


def _options(name: str) -> Iterator[tuple[str, TyperOption, Any]]:
    command = _commands()[name]
    context = typer.Context(command)
    for param in command.get_params(context):
        if isinstance(param, TyperOption) and "--help" not in param.opts:
            yield param.opts[0], param, context


@pytest.mark.parametrize("name", _commands())
def test_helps_are_phrases(name: str) -> None:
    for flag, param, _ in _options(name):
        help = param.help or ""
        assert len(help.split()) > 1, f"{flag}: {help!r} says too little"
        assert help.count(": ") <= 1, f"{flag}: {help!r} has two lists"
        assert not help.endswith((".", ":")), f"{flag}: {help!r}"


@pytest.mark.parametrize("name", _commands())
def test_defaults_have_one_style(name: str) -> None:
    """No brackets, real values, and never the same value twice."""
    for flag, param, context in _options(name):
        record = param.get_help_record(context)
        assert record is not None
        found = re.search(r"\[default: (.*?)\]$", record[1])
        if param.required or (param.is_flag and not param.secondary_opts):
            assert found is None, flag
            continue
        assert found is not None, f"{flag} of {name} shows no default"
        text = found.group(1)
        assert not text.startswith("("), f"{flag}: {text}"
        assert "the model's" not in text and "SEKGNN_DATA" not in text.split()
        values = [part.split(" for ")[0] for part in text.split("; ")]
        assert len(values) == len(set(values)), f"{flag}: {text}"


def test_shared_options_have_one_wording() -> None:
    helps: dict[str, set[str]] = {}
    for name in _commands():
        for flag, param, _ in _options(name):
            helps.setdefault(flag, set()).add(str(param.help))
    for flag in _ONE_WORDING:
        assert len(helps[flag]) == 1, helps[flag]

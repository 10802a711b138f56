"""The site's sources fit together; ``make docs`` builds it and runs its tutorials."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import typer

import sekgnn
from sekgnn.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md"), *DOCS.glob("how/*.md")]
OTHERS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FENCED = re.compile(r"^(```+|:::+)(.*?)^\1", re.S | re.M)


def listed() -> Iterator[tuple[Path, str]]:
    """Yield every entry of a toctree with the page that has it."""
    for page in PAGES:
        for text in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.S):
            for line in text.splitlines():
                if line and not line.startswith(":"):
                    yield page, re.sub(r"^.*<(.*)>$", r"\1", line)


def slug(heading: str) -> str:
    """Return the anchor that GitHub and the site give a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def test_every_page_is_in_the_table_of_contents() -> None:
    entries = {
        (entry[1:] if entry.startswith("/") else f"docs/{entry}")
        for _, entry in listed()
    }
    results = [*ROOT.glob("results/*/*.md"), *ROOT.glob("studies/*/results/*.md")]
    names = {str(page.relative_to(ROOT).with_suffix("")) for page in [*PAGES, *results]}
    lost = {n for n in names if not any(fnmatch(n, entry) for entry in entries)}
    assert lost == {"docs/index"}, "list the page in docs/index.md"


@pytest.mark.parametrize("page", PAGES + OTHERS, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    text = FENCED.sub("", page.read_text("utf-8"))
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = unquote(link).partition("#")
        target = page.parent / name if name else page
        if not target.exists():
            broken.append(link)
        elif anchor:
            body = FENCED.sub("", target.read_text("utf-8"))
            headings = re.findall(r"^#+ (.*)$", body, re.M)
            broken += [link] if anchor not in map(slug, headings) else []
    assert broken == []


def test_every_public_name_is_described_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import api_pages  # type: ignore[import-not-found]

    for room in api_pages.ROOMS:
        text = api_pages.page(room)
        for name in api_pages.described(room):
            assert len(re.findall(rf"^\.\. auto\w+:: {name}$", text, re.M)) == 1
            assert api_pages.docstring(room, name), f"{room}.{name} has no docstring"
        for name in api_pages.public(room):
            assert name in api_pages.described(api_pages.home(room, name))
    rooms = {f"sekgnn.{name}" for name in sekgnn.__all__} & set(sys.modules)
    public = {room for room in rooms if hasattr(sys.modules[room], "__all__")}
    assert public <= set(api_pages.ROOMS)
    pages = [entry for _, entry in listed() if entry.startswith("api/")]
    assert pages == [f"api/{room.removeprefix('sekgnn.')}" for room in api_pages.ROOMS]


def commands() -> Iterator[str]:
    """Yield every command that README and docs show, without what a shell does."""
    for page in (*PAGES, *OTHERS):
        for block in re.findall(r"```(?:bash|sh)\n(.*?)```", page.read_text(), re.S):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                ends = [i for i, w in enumerate(words) if w in ("|", ">", "&&", "&")]
                if words[:1] == ["sekgnn"] and "..." not in words:
                    yield shlex.join(words[1 : min(ends, default=len(words))])


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_every_command_of_the_docs_can_be_typed(line: str) -> None:
    """Its words are read as arguments and options; nothing is run."""
    command: Any = typer.main.get_command(app)
    name, words = "sekgnn", shlex.split(line)
    while True:
        context = command.make_context(name, list(words))
        if not hasattr(command, "resolve_command"):
            return
        rest = [*context._protected_args, *context.args]
        name, command, words = command.resolve_command(context, rest)


def test_every_flag_is_on_the_page_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import command_page  # type: ignore[import-not-found]

    sections = dict(
        section.split("\n", 1) for section in command_page.page().split("\n## ")[1:]
    )
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            assert {f"sekgnn {name} {sub}" for sub in command.commands} <= {*sections}
            continue
        flags = {
            max(param.opts, key=len)
            for param in command.get_params(typer.Context(command))
            if param.param_type_name == "option" and param.name != "help"
        }
        shown = re.findall(r"^\| `([^`]*)`", sections[f"sekgnn {name}"], re.M)
        assert flags <= {word for row in shown for word in re.split(r"[ ,]+", row)}

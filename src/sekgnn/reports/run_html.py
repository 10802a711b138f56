"""Pieces of a page that needs nothing from elsewhere; all text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2127; --paper: #ffffff; --grey: #6d747d;
  --line: #dde1e6; --soft: #f5f6f8; --link: #0b62a4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --paper: #15181c; --grey: #949ba5; --line: #343a42;
    --soft: #1e2227; --link: #74b7ec; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { margin-top: 3rem; border-top: 2px solid var(--line);
  padding-top: 1rem; overflow-wrap: anywhere; } h3 { margin: 1.6rem 0 .4rem; }
a { color: var(--link); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { background: var(--soft); white-space: nowrap; }
tr.default td, tr.default th, .note { color: var(--grey); }
.note { font-size: .875rem; }
.side { display: flex; flex-wrap: wrap; gap: 0 2rem; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: 4px; }
"""
# even if something were not escaped, nothing would be run or fetched
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page.

    Args:
        title: Plain text.
        body: Pieces of HTML.
    """
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    links: Sequence[str] = (),
) -> str:
    """Return a table of plain text.

    Args:
        head: Names of the columns.
        rows: One text per column.
        links: Per row, the anchor on this page that its first cell leads to.
    """
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"]
    for i, row in enumerate(rows):
        texts = [escape(text) for text in row]
        if links:
            texts[0] = f'<a href="#{escape(links[i])}">{texts[0]}</a>'
        lines.append("<tr>" + "".join(f"<td>{text}</td>" for text in texts) + "</tr>")
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def facts(pairs: Iterable[tuple[str, str, bool]]) -> str:
    """Return a table of names and values.

    Args:
        pairs: Name, value, and whether to show it in grey.
    """
    lines = []
    for name, value, grey in pairs:
        row = '<tr class="default">' if grey else "<tr>"
        lines.append(f"{row}<th>{escape(name)}</th><td>{escape(value)}</td></tr>")
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def heading(level: int, text: str, anchor: str = "") -> str:
    """Return a heading of plain text."""
    mark = f' id="{escape(anchor)}"' if anchor else ""
    return f"<h{level}{mark}>{escape(text)}</h{level}>"


def note(text: str) -> str:
    """Return a paragraph in small print."""
    return f'<p class="note">{escape(text)}</p>'


def code(text: str) -> str:
    """Return text to be copied."""
    return f"<pre><code>{escape(text)}</code></pre>"


def picture(png: bytes, text: str) -> str:
    """Return a PNG that is part of the page, with a description."""
    content = base64.b64encode(png).decode("ascii")
    return (
        f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{content}">'
        f"<figcaption>{note(text)}</figcaption></figure>"
    )

"""Building blocks of a self-contained HTML page.

All text is escaped. The only script sorts tables; the page's policy names its digest,
so nothing else would run or be fetched even if something were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

_LONG = 22  # letters of a word that has room on a phone
_NARROW = 3  # columns that have room there; rows of more become blocks
_MANY = 9  # columns from which on a screen has little room
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]?\d+)?(?![\w.,])")
_FILES = files(__package__)
_STYLE = "\n" + _FILES.joinpath("page.css").read_text("utf-8")
_SCRIPT = "\n" + _FILES.joinpath("page.js").read_text("utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    f"script-src 'sha256-{_DIGEST}'"
)


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page from a title in plain text and pieces of HTML."""
    content = "\n".join(body)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{content}
<script>{_SCRIPT}</script>
</body>
</html>
"""


def text(plain: str) -> str:
    """Return the text of a cell; only words too long for a phone may be broken.

    Example:
        >>> text("sek-gin")
        '<span class="word">sek-gin</span>'
        >>> text("a/very_long/name_of_data.csv")
        'a/<wbr>very_<wbr>long/<wbr>name_<wbr>of_<wbr>data.<wbr>csv'
    """
    out = []
    for part in re.split(r"(\s+)", plain):
        if len(part) > _LONG and not part.isspace():
            pieces = re.findall(r"[^/_.,:=-]{0,11}[/_.,:=-]|[^/_.,:=-]{1,12}", part)
            out.append("<wbr>".join(map(escape, pieces)))
        elif re.search(r"\w[-–/?|]", part):  # where browsers may break a line
            out.append(f'<span class="word">{escape(part)}</span>')
        else:
            out.append(escape(part))
    return "".join(out)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    keep: Container[str] = (),
    links: Sequence[str] = (),
) -> str:
    """Return a table of plain text; a click on a heading sorts it.

    A column with one value in several rows becomes a line above the table, unless it
    is in ``keep``. The first cell of a row links to its anchor in ``links``.
    """
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(head)
    own = [set(column) for column in columns]
    once = [
        len(rows) > 1 and len(values) == 1 and name not in keep
        for name, values in zip(head, own, strict=True)
    ]
    shown = [i for i, said in enumerate(once) if not said]
    numbers = [all(map(_NUMBER.match, values - {"", "–"})) for values in own]
    right = [' class="number"' if number else "" for number in numbers]
    names = [text(head[i]) for i in shown]
    if len(rows) > 1:
        names = [f'<button type="button">{name}</button>' for name in names]
    cells = [f"<th{right[i]}>{n}</th>" for i, n in zip(shown, names, strict=True)]
    fixed = "" if len(rows) > 1 else ' class="fixed"'
    lines = [f"<thead{fixed}><tr>{''.join(cells)}</tr></thead>", "<tbody>"]
    for number, row in enumerate(rows):
        cells = []
        for i in shown:
            cell = text(row[i])
            if links and not i:
                cell = f'<a href="#{escape(links[number])}">{cell}</a>'
            kind = ' class="long"' if len(row[i]) > 2 * _LONG else right[i]
            cells.append(f'<td{kind} data-label="{escape(head[i])}">{cell}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    equal = {head[i]: rows[0][i] for i, said in enumerate(once) if said and rows[0][i]}
    above = _in_all_rows(equal) if equal else ""
    size = "stack" if len(shown) > _NARROW else "narrow"
    if len(shown) > _MANY:
        size += " dense"
    body = "\n".join(lines)
    return (
        f'{above}<div class="wide"><table class="{size}">\n{body}\n</tbody></table>'
        "</div>"
    )


def _in_all_rows(values: Mapping[str, str]) -> str:
    """Return one line with the values that all rows share."""
    said = []
    for name, value in values.items():
        words = f"<b>{text(name)}</b> {text(value)}"
        whole = len(name) + len(value) < 1.5 * _LONG
        said.append(f'<span class="word">{words}</span>' if whole else words)
    return f'<p class="note">In all rows: {" · ".join(said)}</p>\n'


def facts(values: Mapping[str, str], grey: Container[str] = ()) -> str:
    """Return a table of names and values; those whose names are in ``grey`` in grey."""
    lines = []
    for name, value in values.items():
        row = '<tr class="default">' if name in grey else "<tr>"
        lines.append(f"{row}<th>{text(name)}</th><td>{text(value)}</td></tr>")
    return (
        f'<table class="facts stack"><tbody>\n{chr(10).join(lines)}\n</tbody></table>'
    )


def heading(level: int, plain: str, anchor: str = "") -> str:
    """Return a heading of plain text."""
    mark = f' id="{escape(anchor)}"' if anchor else ""
    return f"<h{level}{mark}>{escape(plain)}</h{level}>"


def note(plain: str) -> str:
    """Return a paragraph in small print."""
    return f'<p class="note">{text(plain)}</p>'


def box(kind: str, pieces: Iterable[str]) -> str:
    """Return pieces side by side: ``cards``, or ``side``, which is narrower."""
    return f'<div class="{kind}">\n{chr(10).join(pieces)}\n</div>'


def folded(title: str, pieces: Iterable[str]) -> str:
    """Return pieces hidden until a click on their title."""
    content = "\n".join(pieces)
    return f"<details><summary>{escape(title)}</summary>\n{content}\n</details>"


def code(plain: str) -> str:
    """Return text to copy."""
    return f"<pre><code>{escape(plain)}</code></pre>"


def picture(image: bytes, plain: str, kind: str = "png") -> str:
    """Return a PNG (or ``svg+xml``) inside the page, with a description."""
    content = base64.b64encode(image).decode("ascii")
    source = f"data:image/{kind};base64,{content}"
    return f'<figure><img alt="{escape(plain)}" src="{source}"></figure>'

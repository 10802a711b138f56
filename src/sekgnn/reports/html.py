"""Pieces of a page of HTML that needs nothing from elsewhere.

All text is escaped. The one script sorts tables; the page's policy names its digest, so
that nothing else would run or be fetched even if something were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape

_LONG = 22  # letters of a word that has room on a phone
_NARROW = 3  # columns that have room there; rows of more become blocks
_MANY = 9  # columns from which on a screen has little room
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]?\d+)?(?![\w.,])")
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2127; --paper: #ffffff; --grey: #626a74;
  --line: #dde1e6; --soft: #f5f6f8; --link: #0b62a4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --paper: #15181c; --grey: #9aa2ac; --line: #343a42;
    --soft: #1e2227; --link: #74b7ec; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { margin: 3rem 0 .5rem; border-top: 2px solid var(--line); padding-top: 1rem; }
h1, h2 { overflow-wrap: anywhere; }
h3 { margin: 1.8rem 0 .5rem; font-size: 1.05rem; }
a { color: var(--link); }
p { margin: .5rem 0; max-width: 60rem; }
.note { color: var(--grey); font-size: .875rem; }
.note b { font-weight: 600; color: var(--ink); }
.word { white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
thead th { background: var(--soft); vertical-align: bottom; }
.dense { font-size: .8125rem; }
.dense th, .dense td { padding: .35rem .4rem; }
tbody tr:hover { background: var(--soft); }
.number { text-align: right; white-space: nowrap; }
.facts th { white-space: nowrap; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
th button::after { content: " \\2195" / ""; color: var(--grey); opacity: .5; }
.dense button::after { display: none; }
th[aria-sort] button::after { display: inline; }
th[aria-sort=ascending] button::after { content: " \\2191" / ""; opacity: 1; }
th[aria-sort=descending] button::after { content: " \\2193" / ""; opacity: 1; }
tr.default td, tr.default th { color: var(--grey); font-weight: 400; }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
details:last-of-type { border-bottom: 1px solid var(--line); }
summary { cursor: pointer; font-weight: 600; }
.side, .cards { display: grid; gap: .5rem 2rem; align-items: start; }
.side { grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); }
.cards { grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
.side table { width: 100%; }
.side td { text-align: right; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
figure { margin: .8rem 0; }
img { width: 100%; height: auto; background: #ffffff; border: 1px solid var(--line);
  border-radius: 6px; }
@media (max-width: 40rem) {
  body { padding: 1rem; }
  th, td { padding: .35rem .5rem; }
  table.stack, .stack tbody { display: block; width: 100%; }
  .stack tr, .stack th, .stack td { display: block; border: 0; padding: .1rem 0; }
  .stack thead th { display: inline-block; padding: .2rem .6rem;
    margin: 0 .3rem .3rem 0; border: 1px solid var(--line); border-radius: 6px; }
  .stack thead.fixed { display: none; }
  .stack tbody tr { padding: .5rem 0; border-bottom: 1px solid var(--line);
    overflow: hidden; }
  .stack td { text-align: right; overflow: hidden; }
  .stack td:empty { display: none; }
  .stack td:first-child { font-weight: 600; }
  .stack td:first-child::before { font-weight: 400; }
  .stack td[data-label]::before { content: attr(data-label); float: left;
    margin-right: 1rem; color: var(--grey); }
  .stack td.long { text-align: left; }
  .stack td.long::before { float: none; display: block; }
  .facts.stack tr { padding: .2rem 0; }
  .facts.stack th { float: left; margin-right: 1rem; }
}
"""
_SCRIPT = """
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table");
    const place = head.cellIndex, number = head.classList.contains("number");
    const up = head.getAttribute("aria-sort") !== "ascending";
    const text = (row) => row.cells[place].textContent.trim();
    const value = (row) => parseFloat(text(row).replaceAll(",", ""));
    const missing = (row) => number ? Number.isNaN(value(row)) : text(row) === "";
    const order = (a, b) => number ? value(a) - value(b)
      : text(a).localeCompare(text(b), "en", { numeric: true });
    const rows = [...table.tBodies[0].rows].sort((a, b) =>
      missing(a) || missing(b) ? missing(a) - missing(b)
        : up ? order(a, b) : order(b, a));
    table.tBodies[0].append(...rows);
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  });
}
"""
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    f"script-src 'sha256-{_DIGEST}'"
)


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page: a title in plain text, and pieces of HTML."""
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
    """Return text of a cell: words stay whole, but those too long for a phone.

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

    What is the same in all of several rows is said once, above the table, but for
    columns in ``keep``. The first cell of a row links to its anchor in ``links``.
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
    """Return what the rows of a table have in common, in one line."""
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
    """Return pieces beside each other: ``cards`` or ``side``, which are narrower."""
    return f'<div class="{kind}">\n{chr(10).join(pieces)}\n</div>'


def folded(title: str, pieces: Iterable[str]) -> str:
    """Return pieces that show after a click on their title."""
    content = "\n".join(pieces)
    return f"<details><summary>{escape(title)}</summary>\n{content}\n</details>"


def code(plain: str) -> str:
    """Return text to be copied."""
    return f"<pre><code>{escape(plain)}</code></pre>"


def picture(png: bytes, plain: str) -> str:
    """Return a PNG that is part of the page, with a description."""
    content = base64.b64encode(png).decode("ascii")
    source = f"data:image/png;base64,{content}"
    return f'<figure><img alt="{escape(plain)}" src="{source}"></figure>'

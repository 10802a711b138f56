"""The adviser's page, one file of HTML."""

from __future__ import annotations

from html import escape
from typing import Any

from sekgnn.reports.html import code, facts, heading, note, page, table
from sekgnn.reports.run_table import show_result
from sekgnn.training.advise import CAVEAT, Advice, rows
from sekgnn.training.run_record import LEFT_OUT

_HOW = (
    "A model of a class answers alike for all {objects} to which its test gives the "
    "same colour. Collisions are {objects} that share a colour with one of another "
    "target; the floor is what the best function of the colours reaches on these data, "
    "so no model of the class can do better on them, however it is trained. Tests are "
    "exact and run to stability; a test looks only at graphs that weaker ones leave in "
    "a collision, and at one of several isomorphic ones. Time and memory to encode are "
    "those of hops and encodings of all graphs, measured on up to 256 of them."
)
_DUPLICATES = (
    "Isomorphism is the end of every ladder: graphs that it does not tell apart are "
    "the same graph with the same features and different targets. Only further "
    "features, or cleaner targets, can change that."
)


def advice_page(advice: Advice) -> str:
    """Return a self-contained page of HTML."""
    head, *body = rows(advice)
    about = advice.data
    known = {
        "data": str(about["name"]),
        "targets": ", ".join(about["targets"]),
        "kind": f"{about['kind']}, of {advice.objects}",
        advice.objects: f"{advice.count:,}",
    }
    parts = [
        f"<p><strong>{escape(advice.sentence)}</strong></p>",
        note(CAVEAT),
        facts(known),
        heading(2, "What each class of models can tell apart"),
        note(_HOW.format(objects=advice.objects)),
        table(head, body),
        note(_DUPLICATES),
        *(note(text) for text in advice.notes if text != CAVEAT),
        heading(2, "Plain models on graphs they have not seen"),
        *_baseline(advice.baseline),
        heading(2, "Train it"),
        code(advice.command()),
        note("Or save this as config.yaml, and run sekgnn train --config config.yaml:"),
        code(advice.yaml()),
    ]
    return page(f"Advice: {about['name'] or 'graphs'}", parts)


def baseline_rows(baseline: dict[str, Any]) -> list[list[str]]:
    """Return a row of cells for each metric of ridge and forest."""
    out = []
    for name in ("ridge", "forest"):
        for metric, found in baseline.get(name, {}).items():
            if metric == LEFT_OUT:
                out.append([name, f"left out: {found}", ""])
            else:
                value = show_result(metric, found["value"], found["spread"])
                out.append([name, metric, value])
    return out


def _baseline(baseline: dict[str, Any]) -> list[str]:
    if not baseline:
        return [note("Not asked for (--no-baseline).")]
    if LEFT_OUT in baseline:
        return [note(f"Left out: {baseline[LEFT_OUT]}")]
    text = (
        f"{baseline['folds']} folds of {baseline['graphs']:,} graphs, mean and "
        "standard deviation over the folds; penalties are chosen inside the training "
        "graphs of each fold, whose test graphs are used once. Both read features and "
        "encodings, pooled over each graph."
    )
    return [note(text), table(["model", "metric", "value"], baseline_rows(baseline))]

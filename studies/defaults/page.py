"""The page: recipes by tasks, and the defaults that follow by a fixed rule."""

from __future__ import annotations

import numpy as np
from studies.defaults.trials import CHANGES, TASKS, Defaults, Trial

from sekgnn.training.run_record import is_better_high

RATIO = 0.9
"""An error is clearly smaller below this fraction of the other, with every seed."""
ERRORS = 2.0
"""An accuracy is clearly higher beyond this many standard errors of the difference."""
TASKS_NEEDED = 3
"""Tasks on which a change must be clearly better, and none worse, to be a default."""

INTRODUCTION = f"""# Which defaults of training are good

SEK-GIN with two layers, every recipe on every task, chosen and scored on validation
graphs alone: of the validation graphs of each split one half chooses the epoch, where
a recipe does so, and the other half is scored. Test graphs are not looked at. Counting
and spectral radius: 1,500 training graphs, one split, mean absolute error (smaller is
better). MUTAG and BZR: the validation parts of five nested folds, accuracy in per cent.

**+** and **−**: clearly better or worse than the defaults: the smaller error is at most
{RATIO:.0%} of the other with every seed, or the paired difference of accuracies is
beyond {ERRORS:.0f} standard errors. A change becomes a default if it is clearly better
on {TASKS_NEEDED} tasks and worse on none."""

DECISION = """What was done with it: no default was changed. The rule names `skip`, and
`head mlp` misses it by one task, but the three tasks that they win are regressions:
with `skip` both accuracies are lower (within two standard errors), with `head mlp` that
of BZR clearly is. Multisets cannot be pooled for a skip, and the paper's networks have
neither. The skip is in the preset `lbfgs`, which ran for 15 of its 60 epochs here.
Standardising (`scale`) is not shown to be better than none, before batch normalisation;
nor is the preset `small` shown to be better than defaults of the same width and rate,
and one network of it is worse on BZR. What it has for it is that no epoch is chosen and
that no graphs are kept from training for that."""


def defaults_page(record: Defaults) -> str:
    """Return the page of a record in Markdown."""
    by_recipe = _by_recipe(record)
    tasks = [task for task in TASKS if any(task in row for row in by_recipe.values())]
    runs = [len(by_recipe["defaults"][task]) for task in tasks]
    counts = [f"{n} seed{'s' * (n > 1)}" for n in runs]
    heads = [f"{task}, {count}" for task, count in zip(tasks, counts, strict=True)]
    lines = [["recipe", *heads], ["---"] * (len(tasks) + 1)]
    for recipe, row in by_recipe.items():
        lines.append([recipe, *(_cell(by_recipe, recipe, row, task) for task in tasks)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    sections = [INTRODUCTION, table, _verdict(by_recipe), DECISION, _provenance(record)]
    return "\n\n".join(sections) + "\n"


TrialTable = dict[str, dict[str, list[Trial]]]


def _by_recipe(record: Defaults) -> TrialTable:
    """Return the trials by recipe and task, one per seed, in order of the seed."""
    out: TrialTable = {name: {} for name in CHANGES}
    for trial in sorted(record.trials, key=lambda t: int(t.config["seed"])):
        out.setdefault(trial.recipe, {}).setdefault(trial.task, []).append(trial)
    return out


def compare(trials: list[Trial], others: list[Trial]) -> int:
    """Return 1 if trials are clearly better than others, -1 if worse, else 0."""
    pairs = list(zip(trials, others, strict=False))  # of the seeds that both have
    ours, theirs = (np.array([p[i].scores for p in pairs]).ravel() for i in (0, 1))
    if not is_better_high(trials[0].metric):
        better, worse = ours <= RATIO * theirs, theirs <= RATIO * ours
        return int(better.all()) - int(worse.all())
    gain = ours - theirs
    error = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else np.inf
    return int(np.sign(gain.mean())) if abs(gain.mean()) > ERRORS * error else 0


def _cell(
    by_recipe: TrialTable, recipe: str, row: dict[str, list[Trial]], task: str
) -> str:
    if task not in row:
        return ""
    mean = float(np.mean([trial.scores for trial in row[task]]))
    high = is_better_high(row[task][0].metric)
    sign = (
        compare(row[task], by_recipe["defaults"][task]) if recipe != "defaults" else 0
    )
    mark = {1: " **+**", 0: "", -1: " **−**"}[sign]
    return (f"{100 * mean:.1f}" if high else f"{mean:.3g}") + mark


def _verdict(by_recipe: TrialTable) -> str:
    """Return a section on the defaults that follow by the rule."""
    kinds: dict[str, list[str]] = {"change": [], "stay": [], "preset": []}
    for recipe, row in by_recipe.items():
        signs = [compare(row[task], by_recipe["defaults"][task]) for task in row]
        better, worse = signs.count(1), signs.count(-1)
        kind = "preset"
        if recipe in CHANGES:
            kind = "change" if better >= TASKS_NEEDED and not worse else "stay"
        if recipe != "defaults":
            words = f"{recipe} (better on {better}, worse on {worse} of {len(signs)})"
            kinds[kind].append(words)
    lists = {kind: "; ".join(words) or "none" for kind, words in kinds.items()}
    return (
        "## Which defaults follow\n\n"
        f"Changes that are clear enough to be defaults: {lists['change']}. Changes "
        f"that are not: {lists['stay']}. Presets: {lists['preset']}."
    )


def _provenance(record: Defaults) -> str:
    seconds = sum(trial.seconds for trial in record.trials)
    versions = ", ".join(f"{name} {v}" for name, v in record.versions.items())
    return (
        f"{seconds / 60:.0f} CPU minutes of training; seeds from 0. "
        f"{versions}; commit {record.commit or 'unknown'}. Configs, scores "
        "of every split and kept epochs are in defaults.json; "
        "`python -m studies.defaults` makes both files."
    )

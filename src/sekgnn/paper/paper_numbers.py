"""Numbers published in the SEK-GNN paper, to compare with your own.

Systems have the names of our models. Accuracies are fractions, where the paper prints
percent. Tables have the labels of the paper's LaTeX source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sekgnn.reports.run_table import dataset_name
from sekgnn.training.config import NO_ENCODING
from sekgnn.training.run_record import Result, RunRecord

SQUARED = ("k-gin", "kp-gin+", "sek-gin")
"""Systems whose published counts are an MSE, though the paper's column says MAE.

KP-GNN's ``train_structure_counting.py`` takes ``.square()`` until commit 0c9b224 of
December 2022, which is later than the numbers of K-GIN+ and KP-GIN+; the authors' own
``run_subgraph_count.py`` has ``F.mse_loss`` for SEK-GIN. The other rows come from
GNN-AK's ``train/counting.py``, which takes ``.abs()``, and from the SEK-PPGN script,
whose default is ``--l1_loss 1``.
"""
PROPERTY_NOTE = (
    "The authors' SEK-PPGN script for graph properties evaluates on the training split."
)
QM9_UNIT_NOTE = (
    "The energies of DTNN and MPNN come from MoleculeNet, and may be in kcal/mol."
)
QM9_HOMO_NOTE = (
    "The paper's SEK-GIN on homo is less than half of any other, and of its own lumo."
)


@dataclass(frozen=True)
class PaperNumber:
    """One published number.

    Attributes:
        table: The paper's table: ``exp:syn``, ``exp:tudataset``, ``exp:qm9``, and the
            ablations ``exp:ab_study1`` and ``exp:ab_study2``.
        target: Name of the target; empty if the dataset has only one.
        model: The system, by the name of our model.
        metric: Our metric to compare with.
        value: The number, a fraction if it is an accuracy.
        spread: Standard deviation over folds, if the paper has it.
        note: Caveat of a comparison.
        steps: In an ablation, the walk length; 0 is without f.
    """

    table: str
    data: str
    target: str
    model: str
    protocol: str
    metric: str
    value: float
    spread: float | None = None
    note: str = ""
    steps: int | None = None


_PROPERTIES = ("is_connected", "diameter", "spectral_radius")
_SYNTHETIC = """
        is_connected diameter spectral_radius triangle tailed_triangle star3 cycle4
gin         -1.9239  -3.3079  -4.7584  0.3569  0.2373  0.0224  0.2185
pna         -1.9395  -3.4382  -4.947   0.3532  0.2648  0.1278  0.243
ppgn        -1.9804  -3.6147  -5.0878  0.0089  0.0096  0.0148  0.009
gin-ak+     -2.7513  -3.9687  -5.1846  0.0123  0.0112  0.015   0.0126
k-gin       -2.1782  -3.9695  -5.3088  0.1316  0.0813  0.0017  0.0916
kp-gin+     -4.4322  -3.9361  -5.3345  0.0012  0.0016  0.0014  0.0067
sek-gin     -2.6162  -3.6101  -5.6821  0.0031  0.0058  0.0007  0.0032
sek-ppgn    -4.9883  -4.4438  -5.2273  0.0010  0.0021  0.0020  0.0063
"""
_ACCURACIES = {  # in percent
    "xu2019": """
MUTAG PTC_MR PROTEINS ENZYMES BZR COX2 IMDB-BINARY IMDB-MULTI
wl        90.4±5.7  59.9±4.3  75.0±3.1  –  78.5±0.6  81.7±0.7  73.8±3.9  50.9±3.8
retgk     90.3±1.1  62.5±1.6  75.8±0.6  –  –  –  71.9±1.0  47.7±0.3
gntk      90.0±8.5  67.9±6.9  75.6±4.2  –  83.6±2.9  –  76.9±3.6  –
wwl       87.2±1.5  66.3±1.2  74.2±0.5  –  84.4±2.0  78.2±0.4  74.3±0.8  –
fgw       88.4±5.6  65.3±7.9  74.5±2.7  –  85.1±4.1  77.2±4.8  63.8±3.4  –
dgcnn     85.8±1.7  58.6±2.5  75.5±0.9  38.9±5.7  –  –  70.0±0.9  47.8
capsgnn   86.6±6.8  66.0±1.8  76.2±3.6  –  –  –  73.1±4.8  –
graphsage 85.1±7.6  63.9±7.7  75.9±3.2  –  –  –  72.3±5.3  –
gin-ak+   91.3±7.0  68.2±5.6  77.1±5.7  –  –  –  75.6±3.7  –
graphsnn  91.57±2.8 66.7±3.7  76.83±2.5 61.7±3.4 88.69±3.2 82.86±3.1 77.86±3.6 –
kp-gin    92.2±6.5  66.8±6.8  75.8±4.6  –  –  –  76.6±4.2  –
gin       89.4±5.6  64.6±7.0  75.9±2.8  59.6±4.5  –  –  75.1±5.1  52.3±2.8
sek-gin   92.2±6.2  66.86±7.2 78.32±2.7 61.85±5.1 89.65±3.8 85.89±4.4 76.9±3.8 53.80±3.2
""",
    "wijesinghe2022": """
MUTAG PTC_MR PROTEINS ENZYMES BZR COX2 IMDB-BINARY IMDB-MULTI
gin-ak+   95.1±6.1  74.1±5.9  78.9±5.4  –  –  –  77.3±3.1  –
graphsnn  94.7±1.9  70.58±3.1 78.42±2.7 –  91.12±3.0  86.28±3.3  78.51±2.8  –
kp-gin    96.1±4.6  76.2±4.5  79.5±4.4  –  –  –  80.7±2.6  –
sek-gin   96.9±3.6  75.71±6.4 81.70±2.5 66.12±5.4 93.36±2.3 89.73±2.5 80.3±3.2 56.13±3.0
""",
}
_QM9 = """
        dtnn     mpnn     deep-lrp  ppgn     nested-gnn  kp-gin+  sek-gin
mu      0.244    0.358    0.364     0.231    0.433       0.367    0.358
alpha   0.95     0.89     0.298     0.382    0.265       0.242    0.228
homo    0.00388  0.00541  0.00254   0.00276  0.00279     0.00247  0.00106
lumo    0.00512  0.00623  0.00277   0.00287  0.00276     0.00238  0.00229
gap     0.0112   0.0066   0.00353   0.00406  0.0039      0.00345  0.00335
r2      17.0     28.5     19.3      16.7     20.1        16.49    16.91
zpve    0.00172  0.00216  0.00055   0.00064  0.00015     0.00018  0.00013
u0      2.43     2.05     0.413     0.234    0.205       0.0728   0.0587
u       2.43     2.0      0.413     0.234    0.2         0.0553   0.0672
h       2.43     2.02     0.413     0.229    0.249       0.0575   0.073
g       2.43     2.02     0.413     0.238    0.253       0.0526   0.0592
cv      0.27     0.42     0.129     0.184    0.0811      0.0973   0.0924
"""
LATER_QM9 = {
    "mu": 0.231,
    "alpha": 0.183,
    "homo": 0.00214,
    "lumo": 0.0021,
    "gap": 0.00299,
    "r2": 14.25,
    "zpve": 0.00012,
    "u0": 0.0111,
    "u": 0.0118,
    "h": 0.0127,
    "g": 0.0128,
    "cv": 0.073,
}
"""The best of each column in papers after this one, on networks without coordinates.

Collected column by column, from several papers; no source was checked.
"""
_SYNTHETIC_STEPS = """
    triangle tailed_triangle star3 cycle4 is_connected diameter spectral_radius
0   0.1529  0.0891  0.0011  0.0948  -2.215  -2.647  -4.823
8   0.0043  0.0059  0.0008  0.0039  -2.439  -3.078  -4.915
16  0.0034  0.0061  0.0007  0.0037  -2.555  -3.268  -4.902
24  0.0034  0.0068  0.0007  0.0043  -2.765  -3.423  -5.005
32  0.0033  0.0066  0.0008  0.0043  -2.663  -3.591  -5.103
"""
_TU_STEPS = """
    IMDB-BINARY  PROTEINS  BZR       MUTAG
0   78.1±3.7     79.0±3.0  90.6±2.1  93.6±5.2
8   79.1±3.6     79.6±3.5  91.1±3.0  95.2±3.9
16  79.2±4.3     80.3±3.4  91.1±1.9  95.2±3.9
24  78.5±4.1     80.3±2.9  91.2±1.9  95.2±2.9
32  78.7±3.4     80.8±2.7  92.1±2.2  95.8±3.3
"""
_FIXED = {"model": "sek-gin", "combine": "sum", "readout": "sum"}
_FIXED_SYNTHETIC = {**_FIXED, "num_layers": 6, "num_hops": 5}
_FIXED_TU = {**_FIXED, "num_layers": 2, "num_hops": 3}
_FIXED_WALKS = {
    "encoding": "walks",
    "scope": ["graph"],
    "aggregate": "landing",
    "merge": "parts",
    "fusion": "weighted",
}


def _cells(text: str) -> Iterator[tuple[str, str, float, float | None]]:
    """Yield row, column, number and spread of a table; – is missing."""
    head, *lines = text.strip().splitlines()
    for line in lines:
        name, *cells = line.split()
        for column, cell in zip(head.split(), cells, strict=True):
            value, _, spread = cell.partition("±")
            if cell != "–":
                yield name, column, float(value), float(spread) if spread else None


def _accuracies(text: str) -> Iterator[tuple[str, str, float, float | None]]:
    """Yield the cells of a table in percent, as fractions."""
    for row, column, value, spread in _cells(text):
        share = None if spread is None else round(spread / 100, 6)
        yield row, column, round(value / 100, 6), share


def _synthetic(
    table: str, target: str, model: str, value: float, steps: int | None = None
) -> PaperNumber:
    """Return a property, or a count in its authors' metric."""
    if target in _PROPERTIES:
        note = PROPERTY_NOTE if model == "sek-ppgn" else ""
        about = "graph_property", target, model, "holdout", "test_log10_mse"
    else:
        note = ""
        metric = "test_mse" if model in SQUARED else "test_mae"
        about = "counting", target, model, "holdout", metric
    return PaperNumber(table, *about, value, note=note, steps=steps)


def _qm9_note(model: str, target: str) -> str:
    if model in ("dtnn", "mpnn") and target not in ("mu", "alpha", "r2", "cv"):
        return QM9_UNIT_NOTE
    return QM9_HOMO_NOTE if (model, target) == ("sek-gin", "homo") else ""


def _rows() -> Iterator[PaperNumber]:
    for steps, target, value, _ in _cells(_SYNTHETIC_STEPS):
        yield _synthetic("exp:ab_study1", target, "sek-gin", value, int(steps))
    accuracy = "wijesinghe2022", "test_accuracy"
    for steps, name, value, spread in _accuracies(_TU_STEPS):
        about = "exp:ab_study2", name, "", "sek-gin", *accuracy
        yield PaperNumber(*about, value, spread, steps=int(steps))
    for model, target, value, _ in _cells(_SYNTHETIC):
        yield _synthetic("exp:syn", target, model, value)
    for protocol, text in _ACCURACIES.items():
        for model, name, value, spread in _accuracies(text):
            about = "exp:tudataset", name, "", model, protocol, "test_accuracy"
            yield PaperNumber(*about, value, spread)
    for target, model, value, _ in _cells(_QM9):
        about = "exp:qm9", "QM9", target, model, "holdout", "test_mae"
        yield PaperNumber(*about, value, note=_qm9_note(model, target))


PAPER_NUMBERS = tuple(_rows())
"""Every number of the paper's tables of results and ablations."""


def best_published(table: str, protocol: str) -> dict[tuple[str, str], PaperNumber]:
    """Return the paper's best number of every target or dataset, and metric.

    Numbers with a note are left out.
    """
    best: dict[tuple[str, str], PaperNumber] = {}
    for row in PAPER_NUMBERS:
        if row.table == table and row.protocol == protocol and not row.note:
            key = row.target or row.data, row.metric
            sign = -1 if row.metric == "test_accuracy" else 1
            if key not in best or sign * row.value < sign * best[key].value:
                best[key] = row
    return best


_BY_RESULT = {
    (r.data.casefold(), r.target, r.model, r.protocol, r.metric, r.steps): r
    for r in PAPER_NUMBERS
}


def ablation_steps(data: str, config: Mapping[str, Any]) -> int | None:
    """Return the walk length of a run with the fixed settings of an ablation table.

    These are depth, hops, COMBINE, readout and the paper's encoding; ``None`` if the
    run has others, or the paper has no ablation on its data.
    """
    name = data.casefold()
    if name in ("counting", "graph_property"):
        fixed = _FIXED_SYNTHETIC
    elif name in {r.data.casefold() for r in PAPER_NUMBERS if r.steps is not None}:
        fixed = _FIXED_TU
    else:
        return None
    settings = {**config, "readout": config.get("readout") or "sum"}  # its default
    if any(settings.get(key) != value for key, value in fixed.items()):
        return None
    if settings.get("encoding") == NO_ENCODING:
        return 0
    if any(settings.get(key) != value for key, value in _FIXED_WALKS.items()):
        return None
    return settings.get("walk_length")


def paper_number(
    data: str,
    targets: Sequence[str],
    model: str,
    protocol: str,
    metric: str,
    steps: int | None = None,
) -> PaperNumber | None:
    """Return the published number for a result, if there is one.

    The paper learns one target at a time, so a run with several targets has none. A run
    of an ablation (:func:`ablation_steps`) is only compared with the ablation.

    Example:
        >>> paper_number("MUTAG", ["y"], "sek-gin", "xu2019", "test_accuracy").value
        0.922
    """
    if len(targets) != 1:
        return None
    for target in (targets[0], ""):
        row = _BY_RESULT.get((data.casefold(), target, model, protocol, metric, steps))
        if row is not None:
            return row
    return None


def paper_number_of(record: RunRecord, result: Result) -> PaperNumber | None:
    """Return the published number for a result of a run, if there is one."""
    data = dataset_name(record)
    targets = [str(name) for name in record.data.get("targets") or ()]
    model = str(record.config.get("model") or record.model.get("model") or "")
    steps = ablation_steps(data, record.config)
    return paper_number(data, targets, model, result.protocol, result.metric, steps)

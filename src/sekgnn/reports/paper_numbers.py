"""Numbers that the SEK-GNN paper publishes, as data, to stand beside your own.

Rows of all systems, by the names that models have here. Accuracies are fractions,
where the paper prints percent. The paper's names of tables are those of its LaTeX
source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sekgnn.training.config import NO_ENCODING

COUNTING_NOTE = (
    "The paper's counting column says MAE, but the authors' SEK-GIN script computes an "
    "MSE on standardised targets: the number stands beside both."
)
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
        data: Name of the dataset.
        target: Name of the target; empty where the dataset has one only.
        model: The system, by the name that a model has here.
        protocol: How it was evaluated.
        metric: Which metric of ours it is to be compared with.
        value: The number, a fraction if it is an accuracy.
        spread: Standard deviation over folds, where the paper has one.
        note: What to know before comparing.
        steps: In an ablation, the length of walks; 0 is without f.
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
_PATTERNS = ("triangle", "tailed_triangle", "star3", "cycle4")
_SYNTHETIC = {  # three properties, then four counts
    "gin": (-1.9239, -3.3079, -4.7584, 0.3569, 0.2373, 0.0224, 0.2185),
    "pna": (-1.9395, -3.4382, -4.947, 0.3532, 0.2648, 0.1278, 0.243),
    "ppgn": (-1.9804, -3.6147, -5.0878, 0.0089, 0.0096, 0.0148, 0.009),
    "gin-ak+": (-2.7513, -3.9687, -5.1846, 0.0123, 0.0112, 0.015, 0.0126),
    "k-gin": (-2.1782, -3.9695, -5.3088, 0.1316, 0.0813, 0.0017, 0.0916),
    "kp-gin+": (-4.4322, -3.9361, -5.3345, 0.0012, 0.0016, 0.0014, 0.0067),
    "sek-gin": (-2.6162, -3.6101, -5.6821, 0.0031, 0.0058, 0.0007, 0.0032),
    "sek-ppgn": (-4.9883, -4.4438, -5.2273, 0.0010, 0.0021, 0.0020, 0.0063),
}
_TU = (
    "MUTAG", "PTC_MR", "PROTEINS", "ENZYMES", "BZR", "COX2", "IMDB-BINARY",
    "IMDB-MULTI",
)  # fmt: skip
_ACCURACIES: dict[
    tuple[str, str], tuple[tuple[float, float | None] | None, ...]
] = {
    ("wl", "xu2019"): (
        (90.4, 5.7), (59.9, 4.3), (75.0, 3.1), None, (78.5, 0.6), (81.7, 0.7),
        (73.8, 3.9), (50.9, 3.8),
    ),
    ("retgk", "xu2019"): (
        (90.3, 1.1), (62.5, 1.6), (75.8, 0.6), None, None, None, (71.9, 1.0),
        (47.7, 0.3),
    ),
    ("gntk", "xu2019"): (
        (90.0, 8.5), (67.9, 6.9), (75.6, 4.2), None, (83.6, 2.9), None, (76.9, 3.6),
        None,
    ),
    ("wwl", "xu2019"): (
        (87.2, 1.5), (66.3, 1.2), (74.2, 0.5), None, (84.4, 2.0), (78.2, 0.4),
        (74.3, 0.8), None,
    ),
    ("fgw", "xu2019"): (
        (88.4, 5.6), (65.3, 7.9), (74.5, 2.7), None, (85.1, 4.1), (77.2, 4.8),
        (63.8, 3.4), None,
    ),
    ("dgcnn", "xu2019"): (
        (85.8, 1.7), (58.6, 2.5), (75.5, 0.9), (38.9, 5.7), None, None, (70.0, 0.9),
        (47.8, None),
    ),
    ("capsgnn", "xu2019"): (
        (86.6, 6.8), (66.0, 1.8), (76.2, 3.6), None, None, None, (73.1, 4.8), None,
    ),
    ("graphsage", "xu2019"): (
        (85.1, 7.6), (63.9, 7.7), (75.9, 3.2), None, None, None, (72.3, 5.3), None,
    ),
    ("gin-ak+", "xu2019"): (
        (91.3, 7.0), (68.2, 5.6), (77.1, 5.7), None, None, None, (75.6, 3.7), None,
    ),
    ("graphsnn", "xu2019"): (
        (91.57, 2.8), (66.7, 3.7), (76.83, 2.5), (61.7, 3.4), (88.69, 3.2),
        (82.86, 3.1), (77.86, 3.6), None,
    ),
    ("kp-gin", "xu2019"): (
        (92.2, 6.5), (66.8, 6.8), (75.8, 4.6), None, None, None, (76.6, 4.2), None,
    ),
    ("gin-ak+", "wijesinghe2022"): (
        (95.1, 6.1), (74.1, 5.9), (78.9, 5.4), None, None, None, (77.3, 3.1), None,
    ),
    ("graphsnn", "wijesinghe2022"): (
        (94.7, 1.9), (70.58, 3.1), (78.42, 2.7), None, (91.12, 3.0), (86.28, 3.3),
        (78.51, 2.8), None,
    ),
    ("kp-gin", "wijesinghe2022"): (
        (96.1, 4.6), (76.2, 4.5), (79.5, 4.4), None, None, None, (80.7, 2.6), None,
    ),
    ("gin", "xu2019"): (
        (89.4, 5.6), (64.6, 7.0), (75.9, 2.8), (59.6, 4.5), None, None,
        (75.1, 5.1), (52.3, 2.8),
    ),
    ("sek-gin", "xu2019"): (
        (92.2, 6.2), (66.86, 7.2), (78.32, 2.7), (61.85, 5.1), (89.65, 3.8),
        (85.89, 4.4), (76.9, 3.8), (53.80, 3.2),
    ),
    ("sek-gin", "wijesinghe2022"): (
        (96.9, 3.6), (75.71, 6.4), (81.70, 2.5), (66.12, 5.4), (93.36, 2.3),
        (89.73, 2.5), (80.3, 3.2), (56.13, 3.0),
    ),
}  # fmt: skip
_QM9_SYSTEMS = (
    "dtnn", "mpnn", "deep-lrp", "ppgn", "nested-gnn", "kp-gin+", "sek-gin",
)  # fmt: skip
_QM9 = {
    "mu": (0.244, 0.358, 0.364, 0.231, 0.433, 0.367, 0.358),
    "alpha": (0.95, 0.89, 0.298, 0.382, 0.265, 0.242, 0.228),
    "homo": (0.00388, 0.00541, 0.00254, 0.00276, 0.00279, 0.00247, 0.00106),
    "lumo": (0.00512, 0.00623, 0.00277, 0.00287, 0.00276, 0.00238, 0.00229),
    "gap": (0.0112, 0.0066, 0.00353, 0.00406, 0.0039, 0.00345, 0.00335),
    "r2": (17.0, 28.5, 19.3, 16.7, 20.1, 16.49, 16.91),
    "zpve": (0.00172, 0.00216, 0.00055, 0.00064, 0.00015, 0.00018, 0.00013),
    "u0": (2.43, 2.05, 0.413, 0.234, 0.205, 0.0728, 0.0587),
    "u": (2.43, 2.0, 0.413, 0.234, 0.2, 0.0553, 0.0672),
    "h": (2.43, 2.02, 0.413, 0.229, 0.249, 0.0575, 0.073),
    "g": (2.43, 2.02, 0.413, 0.238, 0.253, 0.0526, 0.0592),
    "cv": (0.27, 0.42, 0.129, 0.184, 0.0811, 0.0973, 0.0924),
}
_ABLATED = ("IMDB-BINARY", "PROTEINS", "BZR", "MUTAG")
_SYNTHETIC_STEPS = {  # four counts, then three properties
    0: (0.1529, 0.0891, 0.0011, 0.0948, -2.215, -2.647, -4.823),
    8: (0.0043, 0.0059, 0.0008, 0.0039, -2.439, -3.078, -4.915),
    16: (0.0034, 0.0061, 0.0007, 0.0037, -2.555, -3.268, -4.902),
    24: (0.0034, 0.0068, 0.0007, 0.0043, -2.765, -3.423, -5.005),
    32: (0.0033, 0.0066, 0.0008, 0.0043, -2.663, -3.591, -5.103),
}
_TU_STEPS = {
    0: ((0.781, 0.037), (0.790, 0.030), (0.906, 0.021), (0.936, 0.052)),
    8: ((0.791, 0.036), (0.796, 0.035), (0.911, 0.030), (0.952, 0.039)),
    16: ((0.792, 0.043), (0.803, 0.034), (0.911, 0.019), (0.952, 0.039)),
    24: ((0.785, 0.041), (0.803, 0.029), (0.912, 0.019), (0.952, 0.029)),
    32: ((0.787, 0.034), (0.808, 0.027), (0.921, 0.022), (0.958, 0.033)),
}
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


def _ablation_rows() -> list[PaperNumber]:
    """Return the tables of steps: a doubtful count stands beside both errors again."""
    rows = []
    for steps, values in _SYNTHETIC_STEPS.items():
        for target, value in zip((*_PATTERNS, *_PROPERTIES), values, strict=True):
            count = target in _PATTERNS
            data = "counting" if count else "graph_property"
            for metric in ("test_mae", "test_mse") if count else ("test_log10_mse",):
                rows.append(
                    PaperNumber(
                        "exp:ab_study1", data, target, "sek-gin", "holdout", metric,
                        value, note=COUNTING_NOTE if count else "", steps=steps,
                    )
                )  # fmt: skip
    for steps, pairs in _TU_STEPS.items():
        for name, (value, spread) in zip(_ABLATED, pairs, strict=True):
            rows.append(
                PaperNumber(
                    "exp:ab_study2", name, "", "sek-gin", "wijesinghe2022",
                    "test_accuracy", value, spread, steps=steps,
                )
            )  # fmt: skip
    return rows


def _qm9_note(model: str, target: str) -> str:
    if model in ("dtnn", "mpnn") and target not in ("mu", "alpha", "r2", "cv"):
        return QM9_UNIT_NOTE
    return QM9_HOMO_NOTE if (model, target) == ("sek-gin", "homo") else ""


def _rows() -> tuple[PaperNumber, ...]:
    rows = _ablation_rows()
    for model, values in _SYNTHETIC.items():
        for target, value in zip(_PROPERTIES, values[:3], strict=True):
            rows.append(
                PaperNumber(
                    "exp:syn", "graph_property", target, model, "holdout",
                    "test_log10_mse", value,
                    note=PROPERTY_NOTE if model == "sek-ppgn" else "",
                )
            )  # fmt: skip
        doubtful = model == "sek-gin"
        for target, value in zip(_PATTERNS, values[3:], strict=True):
            for metric in ("test_mae", "test_mse") if doubtful else ("test_mae",):
                rows.append(
                    PaperNumber(
                        "exp:syn", "counting", target, model, "holdout", metric,
                        value, note=COUNTING_NOTE if doubtful else "",
                    )
                )  # fmt: skip
    for (model, protocol), pairs in _ACCURACIES.items():
        for name, pair in zip(_TU, pairs, strict=True):
            if pair is not None:
                share = round(pair[0] / 100, 6)
                spread = None if pair[1] is None else round(pair[1] / 100, 6)
                rows.append(
                    PaperNumber(
                        "exp:tudataset", name, "", model, protocol, "test_accuracy",
                        share, spread,
                    )
                )  # fmt: skip
    for target, values in _QM9.items():
        for model, value in zip(_QM9_SYSTEMS, values, strict=True):
            rows.append(
                PaperNumber(
                    "exp:qm9", "QM9", target, model, "holdout", "test_mae", value,
                    note=_qm9_note(model, target),
                )
            )  # fmt: skip
    return tuple(rows)


PAPER_NUMBERS = _rows()
"""Every number of the paper's tables of results and of ablations."""
_ELSEWHERE = tuple(
    PaperNumber("exp:qm9", "QM9", target, "later work", "holdout", "test_mae", value)
    for target, value in zip(
        _QM9,
        (0.231, 0.183, 0.00214, 0.0021, 0.00299, 14.25, 0.00012, 0.0111, 0.0118,
         0.0127, 0.0128, 0.073),
        strict=True,
    )
)  # fmt: skip


def best_published(table: str, protocol: str) -> dict[str, PaperNumber]:
    """Return the best number of every column of a table, by its target or dataset.

    Numbers with a note are left out: they are not what the column says. For QM9 later
    papers on networks without coordinates count, too.
    """
    best: dict[str, PaperNumber] = {}
    for row in (*PAPER_NUMBERS, *_ELSEWHERE):
        if row.table == table and row.protocol == protocol and not row.note:
            name = row.target or row.data
            sign = -1 if row.metric == "test_accuracy" else 1
            if name not in best or sign * row.value < sign * best[name].value:
                best[name] = row
    return best


_FOUND = {
    (
        row.data.casefold(),
        row.target,
        row.model,
        row.protocol,
        row.metric,
        row.steps,
    ): row
    for row in PAPER_NUMBERS
}


def ablation_steps(data: str, config: Mapping[str, Any]) -> int | None:
    """Return the steps of a run that has the fixed settings of a table of ablations.

    These are depth, hops, COMBINE, readout and the paper's encoding; ``None`` if the
    run has others, or learned from data that the paper's ablations leave out.

    Args:
        data: Name of the dataset; upper and lower case are the same.
        config: Of the run, as plain values; a model option may be ``None``.
    """
    name = data.casefold()
    if name in ("counting", "graph_property"):
        fixed = _FIXED_SYNTHETIC
    elif name in {known.casefold() for known in _ABLATED}:
        fixed = _FIXED_TU
    else:
        return None
    given = {**config, "readout": config.get("readout") or "sum"}  # its default
    if any(given.get(key) != value for key, value in fixed.items()):
        return None
    if given.get("encoding") == NO_ENCODING:
        return 0
    if any(given.get(key) != value for key, value in _FIXED_WALKS.items()):
        return None
    return given.get("walk_length")


def paper_number(
    data: str,
    targets: Sequence[str],
    model: str,
    protocol: str,
    metric: str,
    steps: int | None = None,
) -> PaperNumber | None:
    """Return the published number for a result, if there is one.

    The paper learns one target at a time, so a run with several targets has none.

    Args:
        data: Name of the dataset; upper and lower case are the same.
        targets: What the run learned.
        model: A key of :data:`~sekgnn.models.options.MODEL_KINDS`.
        protocol: How the result was evaluated.
        metric: Such as ``test_mae``.
        steps: Of a run of an ablation (:func:`ablation_steps`), which is compared with
            nothing else.

    Example:
        >>> paper_number("MUTAG", ["y"], "sek-gin", "xu2019", "test_accuracy").value
        0.922
    """
    if len(targets) != 1:
        return None
    for target in (targets[0], ""):
        row = _FOUND.get((data.casefold(), target, model, protocol, metric, steps))
        if row is not None:
            return row
    return None

"""The BREC scoreboard: how many of its 400 pairs something can tell apart.

``score`` gives any PyG model its BREC score, ``score_exact`` any exact test. Importing
this room does not load torch; what needs it is loaded when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sekgnn.brec.exact import ExactScore, score_exact
    from sekgnn.brec.hotelling import critical_t2, hotelling_t2, released_t2
    from sekgnn.brec.protocol import RPCProtocol
    from sekgnn.brec.result import BRECScore, PairScore
    from sekgnn.brec.scoring import score

__all__ = [
    "BRECScore",
    "ExactScore",
    "PairScore",
    "RPCProtocol",
    "critical_t2",
    "hotelling_t2",
    "released_t2",
    "score",
    "score_exact",
]

_HOMES = {
    "BRECScore": "sekgnn.brec.result",
    "ExactScore": "sekgnn.brec.exact",
    "PairScore": "sekgnn.brec.result",
    "RPCProtocol": "sekgnn.brec.protocol",
    "critical_t2": "sekgnn.brec.hotelling",
    "hotelling_t2": "sekgnn.brec.hotelling",
    "released_t2": "sekgnn.brec.hotelling",
    "score": "sekgnn.brec.scoring",
    "score_exact": "sekgnn.brec.exact",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sekgnn.brec' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})

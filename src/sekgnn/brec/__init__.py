"""The BREC scoreboard: how many of its 400 pairs something can tell apart.

``score`` gives any PyG model its BREC score, ``score_exact`` any exact test. Importing
this room does not load torch; what needs it is loaded when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.brec.exact_score import ExactScore, score_exact
    from sekgnn.brec.hotelling import critical_t2, hotelling_t2, released_t2
    from sekgnn.brec.model_score import BRECScore, PairScore, RPCProtocol
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

__getattr__, __dir__ = lazy_names(__name__)

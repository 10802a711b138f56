"""The BREC scoreboard: how many of its 400 pairs a test or a network separates.

``score`` scores any PyG model, ``score_exact`` any exact test. Importing this room does
not load torch; names that need it are loaded on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.brec.exact import score_exact
    from sekgnn.brec.hotelling import critical_t2, hotelling_t2, released_t2
    from sekgnn.brec.networks import score
    from sekgnn.brec.protocol import RPCProtocol
    from sekgnn.brec.record import BRECScore, ExactPair, TrainedPair

__all__ = [
    "BRECScore",
    "ExactPair",
    "RPCProtocol",
    "TrainedPair",
    "critical_t2",
    "hotelling_t2",
    "released_t2",
    "score",
    "score_exact",
]

__getattr__, __dir__ = lazy_names(__name__)

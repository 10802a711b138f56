"""Substructure encodings f (SEK paper, Definition 2) as functions of arrays."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.encoding.encoder import encode, encode_many
    from sekgnn.encoding.exact import encode_exact
    from sekgnn.encoding.patterns import PatternCounts, PeripheralEdges
    from sekgnn.encoding.ragged import RaggedEncoding
    from sekgnn.encoding.reference import reference_encoding
    from sekgnn.encoding.sampled import SampledEncoding, encode_sampled
    from sekgnn.encoding.sharded import encode_shards
    from sekgnn.encoding.substructure import (
        ENCODINGS,
        SubstructureEncoding,
        encoding_from_dict,
        make_encoding,
        register_encoding,
    )
    from sekgnn.encoding.walk_counts import WalkCounts
    from sekgnn.encoding.walk_encoding import WalkEncoding

__all__ = [
    "ENCODINGS",
    "PatternCounts",
    "PeripheralEdges",
    "RaggedEncoding",
    "SampledEncoding",
    "SubstructureEncoding",
    "WalkCounts",
    "WalkEncoding",
    "encode",
    "encode_exact",
    "encode_many",
    "encode_sampled",
    "encode_shards",
    "encoding_from_dict",
    "make_encoding",
    "reference_encoding",
    "register_encoding",
]

__getattr__, __dir__ = lazy_names(__name__)

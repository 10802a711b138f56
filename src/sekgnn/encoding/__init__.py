"""Substructure encodings f (SEK paper, Definition 2) as functions of arrays."""

from sekgnn.encoding.encoder import encode, encode_many, encode_packed
from sekgnn.encoding.exact import encode_exact
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.sampled import SampledEncoding, encode_sampled
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.encoding.substructure import (
    ENCODINGS,
    SubstructureEncoding,
    encoding_from_dict,
    make_encoding,
    register_encoding,
)

__all__ = [
    "ENCODINGS",
    "RaggedEncoding",
    "SampledEncoding",
    "SubstructureEncoding",
    "WalkEncoding",
    "encode",
    "encode_exact",
    "encode_many",
    "encode_packed",
    "encode_sampled",
    "encoding_from_dict",
    "make_encoding",
    "register_encoding",
]

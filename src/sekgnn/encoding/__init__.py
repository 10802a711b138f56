"""Substructure encodings f1, f2, f3 (SEK paper, Eq. 1) as functions of arrays."""

from sekgnn.encoding.encoder import encode, encode_many, encode_packed
from sekgnn.encoding.exact import encode_exact
from sekgnn.encoding.sampled import SampledEncoding, encode_sampled
from sekgnn.encoding.spec import WalkEncoding

__all__ = [
    "SampledEncoding",
    "WalkEncoding",
    "encode",
    "encode_exact",
    "encode_many",
    "encode_packed",
    "encode_sampled",
]

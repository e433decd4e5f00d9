"""Initializers of parameters; each is also a call that fills a parameter in place."""

from opsdk.ops.initializer import (
    Assign,
    Constant,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Uniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,
)
from opsdk.ops.nets.structured import Bilinear, Dirac, Orthogonal, TruncatedNormal, set_global_initializer

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]

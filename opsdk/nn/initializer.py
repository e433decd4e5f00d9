"""Initializers of parameters; each is also a call that fills a parameter in place."""

# ruff: noqa: F401 - what is imported here is public
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

__all__ = [name for name in globals() if name[0].isalpha()]

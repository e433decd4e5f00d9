"""The languages of kernels that come with opsdk beside Python: each registers itself when its module is imported."""

from opsdk.backends.c import language as c
from opsdk.backends.cuda import language as cuda
from opsdk.backends.native import language as native
from opsdk.backends.numba import language as numba

__all__ = ["c", "cuda", "native", "numba"]

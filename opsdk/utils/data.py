"""PyTorch's name for `opsdk.io`."""

from opsdk.io import *  # noqa: F403 - all of it
from opsdk.io import __all__ as _names

__all__ = list(_names)

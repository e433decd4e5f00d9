"""Floor 4: PyTorch's place for `opsdk.io`, `opsdk.utils.data`."""

from opsdk.utils import data

__all__ = ["data"]

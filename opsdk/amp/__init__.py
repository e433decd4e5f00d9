"""Floor 4: mixed precision: `auto_cast`, which chooses the dtype that an op computes in, and `GradScaler`."""

from opsdk.amp.auto_cast import auto_cast
from opsdk.amp.grad_scaler import GradScaler
from opsdk.core.spellings import point

point(globals(), "opsdk.amp")

__all__ = ["GradScaler", "auto_cast"]

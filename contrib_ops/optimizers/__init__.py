"""Steps of optimizers: fused_adamw."""

from contrib_ops.optimizers.fused_adamw import fused_adamw as fused_adamw

"""Floor 5: functions and layers as Programs: traced, run in their place, saved and loaded without their code."""

from opsdk.jit.saving import load, save
from opsdk.jit.to_static import StaticFunction, enable_to_static, ignore_module, not_to_static, to_static
from opsdk.jit.translated import TranslatedLayer

__all__ = [
    "StaticFunction",
    "TranslatedLayer",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "to_static",
]

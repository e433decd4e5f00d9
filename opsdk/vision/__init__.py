"""Floor 5: nets for images, made of layers."""

from opsdk.vision import models

__all__ = ["models"]

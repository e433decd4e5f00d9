"""Floor 5: `opsdk.Model`, a network with its optimizer, loss and metrics, trained in one call."""

from opsdk.model.model import Model
from opsdk.model.summary import summary

__all__ = ["Model", "summary"]

"""Floor 4: measures of how well a model does."""

from opsdk.metric.accuracy import Accuracy, accuracy

__all__ = ["Accuracy", "accuracy"]

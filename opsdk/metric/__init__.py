"""Floor 4: measures of how well a model does."""

from opsdk.metric.accuracy import Accuracy, accuracy
from opsdk.metric.binary import Precision, Recall
from opsdk.metric.metric import Metric

__all__ = ["Accuracy", "Metric", "Precision", "Recall", "accuracy"]

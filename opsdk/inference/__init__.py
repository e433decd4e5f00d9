"""Floor 5: running saved models, without the code that trains or builds them."""

from opsdk.inference.predictor import Config, Predictor, create_predictor

__all__ = ["Config", "Predictor", "create_predictor"]

"""Activations: squareplus, snake."""

from contrib_ops.activations.snake import snake as snake
from contrib_ops.activations.squareplus import squareplus as squareplus

"""Regularization: dropout and stateful_dropout."""

from contrib_ops.regularization.dropout import dropout as dropout
from contrib_ops.regularization.stateful_dropout import stateful_dropout as stateful_dropout

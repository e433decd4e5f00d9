"""Ops that update parameters in place: the rules of optimizers."""

"""Modes of dynamic tensors: interceptors that look at what calls record."""

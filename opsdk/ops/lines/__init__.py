"""Ops on each line of an array along an axis."""

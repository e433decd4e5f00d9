"""Ops on square matrices."""

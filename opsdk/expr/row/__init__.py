"""Expressions over one row: reductions beside elementwise operations, and the loops that they become."""

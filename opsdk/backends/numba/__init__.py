"""Numba kernels on the CPU: what a user's loop is compiled to, and where that is kept."""

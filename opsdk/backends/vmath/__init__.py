"""Elementary functions for Numba kernels: polynomials and bit tricks, without calls, that LLVM vectorises.

The coefficients are minimax fits over the interval that stands beside them, made by Remez exchange in 50-digit
arithmetic and rounded to the type that they are used in.
"""

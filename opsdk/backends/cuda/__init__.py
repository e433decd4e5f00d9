"""CUDA kernels, through Numba: users' own and those made from expressions."""

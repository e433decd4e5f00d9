"""Tests that run in Numba's CUDA simulator, in a process of their own: tests/backends/test_numba_cuda.py starts it."""

"""Tests that run in Numba's CUDA simulator, in a process of their own: backends/cuda/test_language.py starts it."""

"""Kernels in C, through cffi: source, compiler, library, call."""

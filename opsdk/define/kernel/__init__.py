"""Kernels as data: places, dtypes, languages and sources, before anything is compiled."""

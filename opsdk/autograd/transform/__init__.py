"""Transforms of functions: runs of `vmap` and `jvp`, which are interceptors, and their values."""

"""Packages of ops: new ones, and their C kernels built ahead of time."""

# What `opsdk new` offers: it is listed by `--help`, which imports nothing of the work.
DEFAULT = "pyfunc"
LICENSES = ("Apache-2.0", "MIT", "BSD-3-Clause")

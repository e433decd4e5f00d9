"""Bodies of primitives that are expressions of others, written with `vmath` as a user writes one."""

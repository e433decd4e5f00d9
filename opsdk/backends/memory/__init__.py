"""Memory of results: the arena, its blocks, and the arrays of a device."""

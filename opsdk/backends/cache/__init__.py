"""The cache on disk: what was compiled once, found by its content."""

"""Floor 1: what an op is. No array is touched here."""

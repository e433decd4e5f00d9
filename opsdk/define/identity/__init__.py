"""Identity: what an op computes, as a digest of all that its definition reads."""

"""What there is on this machine, and what opsdk keeps on it."""

"""The work of `opsdk bench`: rows of ops proven right, then timed beside the reference, each other and peers."""

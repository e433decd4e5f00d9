"""The work of `opsdk bench`: kernels of ops proven right, then timed beside the reference, each other and peers."""

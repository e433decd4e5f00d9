"""What users ask of kernels: which would run for a call, and the C function that it comes down to."""

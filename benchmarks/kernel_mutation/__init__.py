"""The kernel-mutation bench: kernels with one edit each, and how many of the edits `opsdk check` sees."""

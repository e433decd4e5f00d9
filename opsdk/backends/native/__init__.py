"""Native kernels: object code made once, kept on disk, and called without Python in it.

Every kernel has one form of entry, a C function

    int32_t entry(void **pointers, const int64_t *sizes, const double *attrs, int64_t start, int64_t stop)

which does the part `start ≤ i < stop` of its work and returns 0, or a status. `pointers` holds inputs, then outputs.
"""

ARGUMENTS = "(void **pointers, const int64_t *sizes, const double *attrs, int64_t start, int64_t stop)"

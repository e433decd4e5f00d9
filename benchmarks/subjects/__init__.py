"""Subjects: the same work written in each framework, as statements that `timeit` can run."""

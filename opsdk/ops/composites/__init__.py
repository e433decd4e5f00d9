"""Functions of several ops, by what they are about; `aliases` has the other names of all functions."""

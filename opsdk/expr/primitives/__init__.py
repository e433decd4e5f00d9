"""Primitives: the operations that expressions are made of, each in one entry, which all that is made of it reads."""

"""Functions of other frameworks as subjects of the judge, one module per framework.

`gradcheck.subjects.torch`, `.jax` and `.paddle` import their framework; nothing else in the package does, and nothing
imports them but their user.
"""

"""Functions of neural networks that are made of ops, a file a family."""

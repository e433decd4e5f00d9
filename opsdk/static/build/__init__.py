"""What writes Programs: calls of ops, layers, Python functions, gradients."""

"""What runs Programs: scopes, bound steps, the executor."""

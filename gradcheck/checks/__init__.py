"""The checks that need no derivative, and those of what a caller gives beside forward and vjp."""

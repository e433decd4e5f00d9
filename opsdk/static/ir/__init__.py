"""A Program as data: blocks, operators, variables, parameters."""

"""Floor 2: the built-in ops, written with `define` as a user would write them."""

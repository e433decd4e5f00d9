"""The mutation bench: right backwards, edited at random, and how many of the edits each checker sees."""

"""The words for what is wrong: patterns, causes, places."""

"""Elements by their index: taken out, or with others put in their place."""

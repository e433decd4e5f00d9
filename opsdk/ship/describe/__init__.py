"""What there is to say about an op: on a screen, in a list, on a page."""

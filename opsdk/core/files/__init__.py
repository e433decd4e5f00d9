"""Files of arrays: written whole or not at all, and read without running anything that is in them."""

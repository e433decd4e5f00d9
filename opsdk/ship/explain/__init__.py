"""What each error code means, offline."""

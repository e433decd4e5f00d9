"""Programs and the values of their variables on disk, and back."""

"""Floor 0: errors, dtypes, places, specs, flags and the registry that every other floor stands on."""

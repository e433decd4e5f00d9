"""Floor 2: how one kernel is compiled and launched, one file per language, and the call plan around it."""

"""Floor 2: how one kernel is compiled and launched, a folder per language, and the call plan around it."""

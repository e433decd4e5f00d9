"""The demonstration: one ReLU, written in every language, proven, timed, broken on purpose, and trained with."""

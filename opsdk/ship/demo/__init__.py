"""The demonstration: one ReLU, written two ways, proven, broken on purpose, and trained with in both modes."""

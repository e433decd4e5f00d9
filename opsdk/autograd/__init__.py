"""Floor 3, dynamic: tensors, the tape and the backward engine."""

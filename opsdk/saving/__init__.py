"""Floor 4: values on disk, and back: tensors, arrays, nested state, whole models."""

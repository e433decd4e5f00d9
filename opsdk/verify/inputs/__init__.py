"""The calls that an op is tried on: samples of its author, and those that its schema suggests."""

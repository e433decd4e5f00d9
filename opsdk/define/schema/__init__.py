"""The signature of an op: the schema language, attributes, and what is bound by name."""

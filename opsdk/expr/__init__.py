"""Floor 1: scalar expressions, the form of an op that can be differentiated, evaluated anywhere and compiled."""

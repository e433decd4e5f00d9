"""The command `opsdk`: finds the command that is named, and turns each outcome into an exit status."""

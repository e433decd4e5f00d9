"""The command, and the processes that it works in."""

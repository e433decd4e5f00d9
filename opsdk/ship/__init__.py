"""The command line: find, check, explain and demonstrate ops."""

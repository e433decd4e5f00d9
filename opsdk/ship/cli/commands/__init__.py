"""The commands of `opsdk`, a module each, imported when it is named; each calls its command `command`."""

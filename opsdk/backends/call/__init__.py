"""The call: languages, plans, what goes into a kernel, and what comes out of it, held to what was declared."""

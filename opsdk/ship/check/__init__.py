"""The work of `opsdk check`: ops proven, and what was found, as text, JSON, JUnit and a page."""

"""Cases: what is measured, against whom, and which goals it is held to."""

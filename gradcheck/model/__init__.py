"""What is judged: a subject, its inputs and domain, and its evaluation as functions of float64 vectors."""

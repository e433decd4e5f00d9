"""Forms of output: tables, plots, pages in one file."""

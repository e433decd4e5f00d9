"""Processes: scripts that a fresh interpreter runs, each of which prints how long its stages took."""

"""Targets: what a user types to name ops."""

"""Layers: what every layer has, and the layers themselves."""

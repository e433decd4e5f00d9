"""Ops of neural networks: what a layer computes in one call."""

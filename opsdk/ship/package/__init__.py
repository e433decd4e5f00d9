"""Packages of ops: new ones, and their C kernels built ahead of time."""

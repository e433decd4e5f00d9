"""Numeric derivatives with error bars, and what they rest on: steps, noise, kinks, projections."""

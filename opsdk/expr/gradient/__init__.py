"""Derived gradients: rules, the reverse sweep, what it saves, and its proof."""

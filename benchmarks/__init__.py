"""Benchmarks: opsdk and every installed peer, side by side, in alternation, in one run."""

"""Traces: how one element of a gradient was judged, step by step, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepTrace:
    """What one step made of an element.

    Args:
        step: its name.
        saw: what it found out, a sentence each; empty where it had no question to the element.
        said: the verdict it left, with the numbers where they are new.
    """

    step: str
    saw: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class Trace:
    """The judgement of one element of an input at one point.

    Args:
        element: the input and the index, as in messages.
        point: the label of the input values.
        verdict: right, wrong, unsure, jump, steep or undefined, and under which cotangent; or why the element was left
            out.
        steps: in the order in which they were taken.
    """

    element: str
    point: str
    verdict: str
    steps: tuple[StepTrace, ...] = ()

    def lines(self) -> list[str]:
        """Writes the trace for people: the element and its verdict, then the steps, each with what it saw above."""
        lines = [f"{self.element}, at {self.point}: {self.verdict}"]
        for step in self.steps:
            texts = [*(f"saw {text}" for text in step.saw), f"says {step.said}"]
            names = [step.step, *[""] * (len(texts) - 1)]
            lines += [f"  {name:<13} {text}" for name, text in zip(names, texts, strict=True)]
        return lines

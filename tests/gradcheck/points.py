"""Points to judge at, of a forward and some inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.model.evaluation import Point
from gradcheck.model.protocol import build_subject, read_inputs

X = np.linspace(-2, 3, 12).reshape(3, 4)


def point(forward: Any, *inputs: Any, vjp: Any = lambda i, o, c: c) -> Point:
    """Gives the point of a pair of functions at inputs."""
    values = read_inputs(inputs)
    return Point(build_subject(forward, vjp, None, values, None, None, (), ()), values, "here")

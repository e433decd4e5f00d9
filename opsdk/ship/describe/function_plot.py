"""The picture of an op of one number: the function and its derivative, as far as the op gives one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
from gradcheck.show.axes import Axis, Curve, marks_between
from opsdk.autograd.creation import to_tensor
from opsdk.autograd.derivatives import grad
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.ship.output.plot import plot
from opsdk.verify.inputs.domains import domain_of

REACH = 6.0  # where nothing is declared, x is drawn from minus this to this
POINTS = 481  # odd, so that 0, where most kinks are, is one of them
_MARKS = 7  # on the axis of x: every 2 from -6 to 6
_SPACE = 0.02  # share of the values that may lie outside, so that a pole does not flatten the rest


def function_plot(op: Op) -> str:
    """Returns an SVG document; nothing for an op that is no function of single numbers.

    Args:
        op: any op; it is called with its attributes at their defaults.
    """
    opdef = op.opdef
    x = _grid(opdef)
    y = _values(op, x) if _takes_one_number(opdef) else None
    if y is None or not np.isfinite(y).any():
        return ""
    name, out = opdef.schema.input_names[0], opdef.schema.output_names[0]
    curves = [_curve(f"{out} = {opdef.schema.name}({name})", x, y)]
    derivative = _derivative(op, x)
    if derivative is not None:
        curves.append(_curve(f"d{out}/d{name}", x, derivative))
    values = np.array([value for curve in curves for _, value in curve.points])
    inside = np.sort(values[np.isfinite(values)])
    low, high = inside[int(_SPACE * len(inside))], inside[int((1 - _SPACE) * (len(inside) - 1))]
    across = Axis(name, tuple(float(value) for value in np.linspace(x[0], x[-1], _MARKS)))
    return plot(opdef.name, curves, across, Axis(out, marks_between(float(low), float(high))))


def _takes_one_number(opdef: OpDef) -> bool:
    schema = opdef.schema
    return (
        [decl.kind for decl in schema.inputs] == ["tensor"]
        and len(schema.outputs) == 1
        and not any(decl.is_required for decl in schema.attrs)
        and not schema.mutated_inputs
    )


def _grid(opdef: OpDef) -> np.ndarray:
    """Returns points inside the domain; a bound itself is one of them."""
    names = opdef.schema.input_names
    where = domain_of(opdef, names[0]) if names else Domain()
    start = where.low if np.isfinite(where.low) else -REACH
    end = where.high if np.isfinite(where.high) else REACH
    if where.low == -np.inf:
        start = min(start, end - 2 * REACH)
    if where.high == np.inf:
        end = max(end, start + 2 * REACH)
    return where.fold(np.linspace(start, end, POINTS))


def _values(op: Op, x: np.ndarray) -> np.ndarray | None:
    """Returns the values of a function of single numbers; None where one element depends on others."""
    with np.errstate(all="ignore"):
        try:
            whole, turned, part = (np.asarray(op(given)) for given in (x, x[::-1].copy(), x[: POINTS // 3].copy()))
        except Exception:  # whatever it takes, it is not a row of numbers
            return None
    is_one = whole.shape == x.shape and whole.dtype.kind in "fiub"
    same = is_one and _equal(whole[::-1], turned) and _equal(whole[: POINTS // 3], part)
    is_real = same and not _equal(whole, x)  # a reshaping of its input has no picture
    return whole.astype(np.float64) if is_real else None


def _derivative(op: Op, x: np.ndarray) -> np.ndarray | None:
    if op.opdef.grad is None and not op.opdef.is_composite:
        return None
    with np.errstate(all="ignore"):
        try:
            tensor = to_tensor(x, stop_gradient=False)
            y = op(tensor)
            (found,) = grad([y], [tensor], [to_tensor(np.ones_like(x))])
        except Exception:  # no derivative at its default attributes
            return None
    assert found is not None
    return np.array(found.numpy(), np.float64)


def _curve(name: str, x: np.ndarray, y: np.ndarray) -> Curve:
    return Curve(name, tuple(zip(map(float, x), map(float, y), strict=True)))


def _equal(left: Any, right: Any) -> bool:
    """Whether arrays agree but for the last bits, which may depend on where in a vector an element stands."""
    return bool(np.allclose(left, right, rtol=1e-12, atol=0.0, equal_nan=True))

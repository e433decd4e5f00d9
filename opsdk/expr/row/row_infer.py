"""RowInfer: shapes and dtypes of row ops, from the roles of their inputs and results."""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.core.dtype import as_floating, promote_types
from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.infer import Attrs, Inferred, Specs, normalize_axes
from opsdk.define.schema.schema import OpSchema
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW

AXIS = "axis"  # the attribute that tells along which axis rows lie; the last unless an op has it


class RowInfer:
    """Results are of the full shape, or of that without its last axis, or with size 1 there.

    Args:
        roles: of the inputs.
        results: of the outputs.
        nondifferentiable: inputs that may come without their last axis.
    """

    reduces_gradients = True  # dtypes are promoted, and gradients cast back

    def __init__(self, roles: Sequence[str], results: Sequence[str], nondifferentiable: Sequence[str]) -> None:
        self.roles = tuple(roles)
        self.results = tuple(results)
        self.nondifferentiable = tuple(nondifferentiable)

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns one spec per output.

        Raises:
            ShapeError: an input is not of the shape of its role, or has no axis.
        """
        given = [spec for spec in specs if isinstance(spec, TensorSpec)]
        first = given[self.roles.index(FULL)]
        subject = f"op {schema.qualified_name!r}"
        if not first.shape:
            raise ShapeError(f"{subject}: input {schema.input_names[0]!r} expected at least one axis, got shape ()")
        (axis,) = normalize_axes(attrs.get(AXIS, -1), len(first.shape), subject)
        kept = tuple(1 if i == axis else dim for i, dim in enumerate(first.shape))
        flat = tuple(dim for i, dim in enumerate(first.shape) if i != axis)
        shapes = {FULL: first.shape, COLUMN: (first.shape[axis],), ROW: kept, FLAT: flat}
        for name, role, spec in zip(schema.input_names, self.roles, given, strict=True):
            fits = [shapes[role], *([flat] if role == ROW and name in self.nondifferentiable else [])]
            if not any(_admits(shape, spec.shape) for shape in fits):
                raise ShapeError(
                    f"{subject}: input {name!r} expected shape {shape_text(fits[0])} beside "
                    f"{schema.input_names[self.roles.index(FULL)]} {shape_text(first.shape)}, got "
                    f"{shape_text(spec.shape)}"
                )
        floating = [spec.dtype for spec, role in zip(given, self.roles, strict=True) if role in (FULL, COLUMN)]
        dtype = as_floating(promote_types(*floating))
        return tuple(TensorSpec(shapes[role], dtype) for role in self.results)


def _admits(shape: Sequence[int | None], got: Sequence[int | None]) -> bool:
    pairs = zip(shape, got, strict=False)
    return len(shape) == len(got) and all(a is None or b is None or a == b for a, b in pairs)

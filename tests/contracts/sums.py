"""Accumulation: sums that do not come through `opsdk.core.sums`, which adds in blocks and in float32 at least."""

import ast

SUMS = {"sum", "mean", "add.at", "add.reduce", "add.reduceat", "einsum", "average", "bincount", "trapezoid", "nansum"}
HOME = "opsdk.core.sums"
FLOORS = (
    "opsdk.ops",
    "opsdk.expr",
    "opsdk.autograd",
    "opsdk.backends.call.application",
    "opsdk.backends.native.rowwise",
)

JUDGES = ("opsdk.expr.gradient.proof",)  # compare numbers in float64, at a few points

# By module what is called there, and why it may be.
KNOWN = {
    "opsdk.expr.row.row": {"xp.sum": "CuPy's and jax.numpy's sums are trees"},
    "opsdk.ops.loss": {"(...).sum": "counts bools"},
    "opsdk.ops.reduction": {"np.sum": "asks for the dtype of a sum of whole numbers"},
}


def raw_sums(modules):
    """Finds calls of NumPy's own sums in the floors that compute with tensors."""
    found = []
    for name, module in modules.items():
        if name == HOME or name in JUDGES or not name.startswith(FLOORS):
            continue
        calls = [(node.lineno, _summing(node.func)) for node in ast.walk(module.syntax) if isinstance(node, ast.Call)]
        found += [
            f"{module.path}:{line}: {called} adds in the array's own dtype, and one by one along some axes; "
            f"call {HOME}.total, mean or sum_at"
            for line, called in calls
            if called and called not in KNOWN.get(name, ())
        ]
    return found


def _summing(function):
    if not isinstance(function, ast.Attribute):
        return None
    owner = function.value
    if isinstance(owner, ast.Name) and owner.id in ("np", "xp"):
        return f"{owner.id}.{function.attr}" if function.attr in SUMS else None
    if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id in ("np", "xp"):
        name = f"{owner.attr}.{function.attr}"
        return f"{owner.value.id}.{name}" if name in SUMS else None
    is_array = function.attr in ("sum", "mean") and isinstance(owner, (ast.Call, ast.Name, ast.Subscript))
    is_module = isinstance(owner, ast.Name) and owner.id in ("sums", "reduction", "functions")
    if not is_array or is_module:
        return None
    return f"{owner.id}.{function.attr}" if isinstance(owner, ast.Name) else f"(...).{function.attr}"

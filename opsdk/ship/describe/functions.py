"""The functions that a composite may call, docs/composites.md, made from the tables that hold them.

Run as a module it prints the page.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import opsdk
from opsdk.define.op import Op
from opsdk.nn import functional
from opsdk.ops import functions, methods, numpy_protocol
from opsdk.ops.composites import linalg

COMMAND = "python -m opsdk.ship.describe.functions > docs/composites.md"
_INTRODUCTION = f"""# What a composite may call

A composite, `@opsdk.op(composite=True)` or `@op.backward(composite=True)`, runs on arrays, tensors and Variables of a
Program, and has derivatives of every order, as long as it is made of what stands on this page: functions of opsdk,
methods and operators, NumPy's functions that are ops, and ops of yours or of `contrib_ops`. [Writing an op](ops.md)
says which derivatives that gives. This page is made of the tables that hold the functions, by
`{COMMAND}`, and a test holds it to that."""
_SIZES = """An open size of a Variable, `x.shape[0]` of `[None, 3]`, is a size for `zeros`, `ones`, `full`, `expand`,
`one_hot` and `sum_at`, and an end for `arange`; `reshape` and `sum_to` take a whole shape. To compute with sizes, as in
a mean, take them as values: `opsdk.shape(x)[0].astype(x.dtype)`, `opsdk.numel(x)`."""
_CHOICES = """Python decides by attributes, dtypes, numbers of axes and known sizes, which are plain values: `if
x.ndim == 2:` is fine, as is a loop over `range(k)`. By numbers that only a run has it cannot: `opsdk.where(condition,
a, b)` takes the place of `if`."""
_WRITES = (
    """These write to their first argument, whose graph or Program would not know of it, and are refused by name:"""
)
_REFERENCES = """A reference and an opaque backward are NumPy: they get arrays, and may call all of it. Where one
makes an array of nothing, `like=` makes it where its input is, so that it serves a device too: `np.zeros(shape,
dtype, like=x)`, as `empty`, `ones`, `full` and `arange` do, and `np.zeros_like(x)`. The functions above take arrays
as well, and give arrays."""
_MAKERS = "opsdk.autograd.creation"
_PYTHON = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@", "neg": "-x", "getitem": "x[i]"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "abs": "abs(x)"},
}


def page() -> str:
    """Returns the page as Markdown."""
    public = {name: getattr(opsdk, name) for name in sorted(opsdk.__all__)}
    made = {name: value for name, value in public.items() if getattr(value, "__module__", "") == _MAKERS}
    del made["to_tensor"]  # which makes a tensor of anything
    plain = {name: getattr(opsdk, name) for name in sorted(vars(functions)["__all__"])}
    neural = {name: getattr(functional, name) for name in sorted(vars(functional)["__all__"]) if name not in plain}
    matrices = {name: getattr(linalg, name) for name in linalg.__all__ if name not in plain}
    parts = [
        *(_INTRODUCTION, "## Functions", _table("opsdk", plain)),
        "Of matrices alone, beside those of the same names above:",
        _table("opsdk.linalg", matrices),
        "`opsdk.vjp(f, inputs, cotangents)` goes back through a function of these. Those of neural networks:",
        *(_table("opsdk.nn.functional", neural), "## Made of nothing", _table("opsdk", made), _SIZES),
        *("## Methods and operators", _methods(), _CHOICES, "## Under NumPy's names", _numpy(), _WRITES),
        *("\n".join(f"- `{name}`: {instead}" for name, instead in sorted(numpy_protocol.WRITES.items())),),
        *("## References", _REFERENCES),
    ]
    return "\n\n".join(parts) + "\n"


# Any, in these: functions and ops, as the tables have them.
def _table(owner: str, entries: dict[str, Any]) -> str:
    rows = [f"| `{owner}.{name}{_parameters(value)}` | {_summary(value)} |" for name, value in entries.items()]
    return "\n".join(["| function | |", "|---|---|", *rows])


def _parameters(function: Any) -> str:
    """Returns the parameters of a function as they are called, without annotations."""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(function).parameters.values()]
    return str(inspect.Signature(bare)).replace("|", "\\|")


def _summary(function: Any) -> str:
    """Returns the first paragraph of what its author wrote, as a cell of a table."""
    text = inspect.cleandoc((function.opdef.doc if isinstance(function, Op) else function.__doc__) or "")
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _methods() -> str:
    held = vars(methods.ValueMethods)
    names = [name for name, value in held.items() if (callable(value) or name == "T") and name[0] != "_"]
    signs = [sign for name, sign in _PYTHON.items() if f"__{name}__" in held]
    return (
        f"Of a tensor or Variable `x`: {_listed(f'x.{name}' for name in sorted(names))}; and {_listed(signs)}.\n"
        "Over arrays a composite runs on tensors, so that these are the same ops everywhere."
    )


def _numpy() -> str:
    recorded: list[Callable[..., Any]] = [*numpy_protocol.UFUNCS, *numpy_protocol.FUNCTIONS]
    names = _listed(sorted({f"np.{function.__name__}" for function in recorded}))
    return (
        f"Recorded as the op that they are, with the arguments that it has: {names}.\n"
        "Any other NumPy function is refused where a gradient is needed, and of a Variable."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    print(page(), end="")

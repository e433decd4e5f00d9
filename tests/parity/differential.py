"""Differential testing against torch: values and first to third derivatives, with a tolerance from conditioning.

The reference is torch in float64 on the very values that opsdk gets. How far a computation in a shorter dtype may stray
is measured and not assumed: the reference runs again with every result of every torch operation, those of its backward
passes too, moved by one unit of roundoff at random. In one more run every result is rounded as the shorter dtype
rounds it, which makes the ties that rounding makes. The spread of such runs, times `SAFETY`, is allowed; a formula that
loses digits is allowed to lose them, one that does not is held to the last few. Operations that round nothing move
nothing, so that kinks of the inputs themselves are judged exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map

import opsdk
import opsdk.static
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DerivativeOrderError, GradientMissingError, KernelNotFoundError

ORDERS = 3
# Runs of the reference: more only widen what is allowed, so few do where they explain all; many where those were alike:
# which of many near ties is taken is a draw.
RUNS = (2, 7, 207)
# Beyond what the runs showed: a function of opsdk.vmath may be off by some units, and rounding to 16 bits hides that.
SAFETY = {"float64": 16, "float32": 16, "float16": 4, "bfloat16": 4}
DTYPES = ("float64", "float32", "float16", "bfloat16")
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
GREATEST = {"float64": 1.79e308, "float32": 3.4e38, "float16": 65504.0, "bfloat16": 3.38e38}
SMALLEST = {"float64": 2.3e-308, "float32": 1.2e-38, "float16": 6.2e-5, "bfloat16": 1.2e-38}  # normal numbers

_HALF = torch.tensor(0.5, dtype=torch.float64)
_REDUCING = {"sum", "mean", "mm", "bmm", "dot", "mv", "addmm", "logsumexp", "_softmax", "_log_softmax", "prod", "var"}
_REDUCING |= {"_softmax_backward_data", "_log_softmax_backward_data", "native_layer_norm", "index_add", "scatter_add"}
_REDUCING |= {"native_layer_norm_backward", "cumsum", "linalg_vector_norm", "embedding_dense_backward", "index_put"}
_EXACT = {
    *("neg", "abs", "where", "clone", "copy", "cat", "stack", "index", "gather", "amax", "amin", "max", "min", "sign"),
    *("relu", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "empty_like", "select_backward", "sgn"),
    *("slice_backward", "threshold_backward", "maximum", "minimum", "clamp", "scalar_tensor", "fill", "new_zeros"),
    *("_to_copy", "to", "index_select", "masked_fill", "constant_pad_nd", "flip", "floor", "ceil", "round", "trunc"),
    *("value_selecting_reduction_backward", "new_empty_strided", "new_ones", "lift_fresh", "arange", "scatter"),
}  # fmt: skip


class Perturbed(TorchDispatchMode):
    """Moves the result of every operation that rounds by `roundoff`, relatively, in a random direction.

    What enters a reduction moves by `inner`, the roundoff of what it adds up in. Without a seed every result goes to
    the nearest number that has such a roundoff.
    """

    def __init__(self, roundoff: float, inner: float, seed: int | None) -> None:
        super().__init__()
        self.roundoff = roundoff
        self.inner = inner
        self.signs = None if seed is None else torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in _REDUCING:
            args = tree_map(lambda a: self._moved(a, self.inner), args)
        made = func(*args, **(kwargs or {}))
        if name in _EXACT or name.endswith("_") or func.is_view:
            return made
        return tree_map(lambda a: self._moved(a, self.roundoff), made)

    def _moved(self, value: Any, by: float) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float64 or value._is_zerotensor():
            return value
        if self.signs is None:
            part, exponent = torch.frexp(value.detach())
            nearest = torch.ldexp(torch.round(part / by) * by, exponent)
            return torch.where(torch.isfinite(nearest), value + (nearest - value).detach(), value)
        moves = torch.rand(value.shape, generator=self.signs, dtype=torch.float64) - 0.5
        return value * (1 + by * (moves + torch.copysign(_HALF, moves)))  # by ½ to 1, so that ties break any way


@dataclass
class Case:
    """One function in both libraries.

    Args:
        name: which.
        ours, theirs: of the inputs; arrays that are not floating come as NumPy arrays to both.
        inputs: float64 arrays, and others; each is rounded to the dtype that is tried.
        orders: derivatives that are compared.
        dtypes: that it is tried in.
        inside: whether it is one op, whose steps are computed in float32 where the dtype is shorter.
    """

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    orders: int = ORDERS
    dtypes: Sequence[str] = DTYPES
    inside: bool = False
    repro: str = ""


@dataclass
class Difference:
    """A number that is farther from the reference than conditioning explains."""

    case: str
    dtype: str
    order: int
    which: int
    index: tuple[int, ...]
    got: float
    want: float
    allowed: float
    at: str = ""
    repro: str = field(default="", repr=False)

    def __str__(self) -> str:
        return (
            f"{self.case}, {self.dtype}, order {self.order}, result {self.which}{list(self.index)}: "
            f"got {self.got:.9g}, expected {self.want:.9g} ± {self.allowed:.2g}{self.at}"
        )


def _is_float(array: Any) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def rounded(inputs: Sequence[np.ndarray], dtype: str) -> list[np.ndarray]:
    """Returns inputs in a dtype; those that are not floating as they are."""
    with np.errstate(over="ignore"):
        return [a.astype(as_dtype(dtype)) if _is_float(a) else a for a in inputs]


def _cotangents(shapes: Sequence[tuple[int, ...]], dtype: str, order: int) -> list[np.ndarray]:
    rng = np.random.default_rng([7, order])
    return [rng.choice((-1.5, -0.75, 0.5, 1.0, 1.25), shape).astype(as_dtype(dtype)) for shape in shapes]


# Any: values of either library.
def _derivatives(value: Any, leaves: Sequence[Any], dtype: str, orders: int, library: Any) -> list[list[Any]]:
    """Returns the value, and the gradients of ever higher order along fixed cotangents; None for what is 0."""
    found: list[list[Any]] = [[value]]
    for order in range(orders):
        roots = [v for v in found[-1] if v is not None]
        cotangents = _cotangents([tuple(v.shape) for v in roots], dtype, order)
        made = library(roots, leaves, cotangents, order + 1 < orders)  # of what is last no graph is asked for
        if made is None:
            break
        found.append(made)
    return found


def theirs(case: Case, arrays: Sequence[np.ndarray], dtype: str, mode: Perturbed | None = None) -> list[list[Any]]:
    """Returns torch's values in float64, as arrays."""
    values = [
        torch.tensor(np.asarray(a, np.float64), requires_grad=True) if _is_float(a) else a for a in arrays
    ]
    leaves = [v for v in values if isinstance(v, torch.Tensor)]
    final = ROUNDOFF[dtype] if mode is not None else 0.0

    def settle(tensor: Any) -> Any:
        if mode is None or tensor is None:
            return tensor
        with _disable_current_modes():  # moving a number is no operation of its own
            return mode._moved(tensor, final)

    def grad(roots: list[Any], leaves: Sequence[Any], cotangents: list[np.ndarray], more: bool) -> list[Any] | None:
        pairs = [(r, torch.tensor(np.asarray(c, np.float64))) for r, c in zip(roots, cotangents, strict=True)]
        pairs = [(r, c) for r, c in pairs if r.requires_grad]
        if not pairs:
            return None
        made = torch.autograd.grad(
            [r for r, _ in pairs], leaves, [c for _, c in pairs], create_graph=more, allow_unused=True
        )
        return [settle(g) for g in made]

    def run() -> list[list[Any]]:
        return _derivatives(settle(case.theirs(*values)), leaves, dtype, case.orders, grad)

    if mode is None:
        made = run()
    else:
        with mode:
            made = run()
    return [[None if v is None else v.detach().numpy(force=True) for v in row] for row in made]


def ours(case: Case, arrays: Sequence[np.ndarray], dtype: str) -> list[list[Any]]:
    """Returns opsdk's values on the tape, as arrays."""
    values = [opsdk.to_tensor(a, stop_gradient=False) if _is_float(a) else a for a in arrays]
    leaves = [v for v in values if isinstance(v, opsdk.Tensor)]

    def grad(roots: list[Any], leaves: Sequence[Any], cotangents: list[np.ndarray], more: bool) -> list[Any] | None:
        pairs = [(r, opsdk.to_tensor(c)) for r, c in zip(roots, cotangents, strict=True) if not r.stop_gradient]
        if not pairs:
            return None
        return opsdk.grad([r for r, _ in pairs], leaves, [c for _, c in pairs], create_graph=more, allow_unused=True)

    made = _derivatives(case.ours(*values), leaves, dtype, case.orders, grad)
    return [[None if v is None else v.numpy() for v in row] for row in made]


def in_program(case: Case, arrays: Sequence[np.ndarray], dtype: str) -> list[list[Any]]:
    """Returns opsdk's values from a Program, as arrays."""
    main = opsdk.static.Program()
    feed = {f"v{i}": a for i, a in enumerate(arrays) if _is_float(a)}
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        value, leaves = _written(case, arrays)

        def grad(roots: list[Any], leaves: Any, cotangents: list[np.ndarray], more: bool) -> list[Any] | None:
            seeds: list[Any] = []
            if not roots:
                return None
            for cotangent in cotangents:
                name = f"c{len(feed)}"
                feed[name] = cotangent
                seeds.append(opsdk.static.data(name, list(cotangent.shape), cotangent.dtype))
            return opsdk.static.gradients(roots, leaves, seeds)

        made = _derivatives(value, leaves, dtype, case.orders, grad)
    flat = [v for row in made for v in row if v is not None]
    results = iter(opsdk.static.Executor().run(main, feed=feed, fetch_list=flat))
    return [[None if v is None else next(results) for v in row] for row in made]


def ops_of(case: Case) -> set[str]:
    """Returns the names of the ops that a case calls."""
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        _written(case, case.inputs)
    return {operator.opdef.name for operator in main.global_block().ops}


def _written(case: Case, arrays: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
    """Writes a case into the Program that is open; returns its result, and the variables that it is a function of."""
    named = {f"v{i}": opsdk.static.data(f"v{i}", list(a.shape), a.dtype) for i, a in enumerate(arrays) if _is_float(a)}
    for variable in named.values():
        variable.stop_gradient = False
    return case.ours(*(named.get(f"v{i}", a) for i, a in enumerate(arrays))), list(named.values())


class Reference:
    """What torch gives for a case in a dtype, and how far that may stray; both are computed once.

    Args:
        case, dtype: of which.
    """

    def __init__(self, case: Case, dtype: str) -> None:
        self.case = case
        self.dtype = dtype
        self.arrays = rounded(case.inputs, dtype)
        self.want = theirs(case, self.arrays, dtype)
        self._runs = 0
        self._spread = [[None if v is None else np.zeros(v.shape) for v in row] for row in self.want]

    def spread(self, runs: int) -> Any:
        """Returns how far that many runs stray, or more where more were asked for before."""
        unit = ROUNDOFF[self.dtype]
        inner = min(unit, ROUNDOFF["float32"])
        while self._runs < runs:
            mode = Perturbed(inner if self.case.inside else unit, inner, self._runs or None)
            self._strayed(theirs(self.case, self.arrays, self.dtype, mode))
            self._runs += 1
        return self._spread

    def _strayed(self, moved: list[list[Any]]) -> None:
        for row, base, other in zip(self._spread, self.want, moved, strict=True):
            for i, (b, o) in enumerate(zip(base, other, strict=True)):
                if b is not None and o is not None:
                    with np.errstate(all="ignore"):
                        distance = np.abs(np.where(b == o, 0.0, o - b))
                    row[i] = np.maximum(row[i], np.where(np.isnan(distance), np.inf, distance))


def compare(reference: Reference, run: Callable[..., list[list[Any]]] = ours) -> list[Difference]:
    """Returns where opsdk is farther from torch than conditioning explains, at most one place per result."""
    case, dtype = reference.case, reference.dtype
    with np.errstate(all="ignore"):
        got = run(case, reference.arrays, dtype)
    found: list[Difference] = []
    for runs in RUNS:
        found = _found(case, dtype, got, reference.want, reference.spread(runs))
        if not found:
            break
    return found


def _found(case: Case, dtype: str, got: Any, want: Any, spread: Any) -> list[Difference]:
    found: list[Difference] = []
    fits = True  # whether every result so far lies within the dtype, so that what follows from it can
    for order, (row, base, wide) in enumerate(zip(got, want, spread, strict=False)):
        for i, (g, w, s) in enumerate(zip(row, base, wide, strict=True)):
            g, w = _both(g, w)
            if w is None:
                continue
            s = np.zeros(w.shape) if s is None else s
            found += _differences(case, dtype, (order, i), (g, w, s), fits)
        for w in base:
            if w is not None and w.size:
                with np.errstate(invalid="ignore"):
                    fits = fits and bool(np.all(np.abs(w[np.isfinite(w)]) < GREATEST[dtype] / 4))
        if found:
            break  # what follows from a wrong number is wrong too
    return found


def _both(got: Any, want: Any) -> tuple[Any, Any]:
    """Returns a pair in which None, a derivative of zero, is zeros."""
    if got is None and want is None:
        return None, None
    like = got if got is not None else want
    zeros = np.zeros(like.shape)
    return (zeros if got is None else got), (zeros if want is None else want)


def _differences(
    case: Case, dtype: str, place: tuple[int, int], values: tuple[Any, Any, Any], fits: bool
) -> list[Difference]:
    got, want, spread = values
    if got.shape != want.shape:
        return [Difference(case.name, dtype, *place, (), np.nan, np.nan, 0.0, f", shapes {got.shape}, {want.shape}")]
    wide = np.asarray(got, np.float64)
    allowed = SAFETY[dtype] * (spread + ROUNDOFF[dtype] * np.abs(want) + SMALLEST[dtype])
    with np.errstate(all="ignore"):
        off = np.abs(wide - want) > allowed
        beyond = np.abs(want) + allowed > GREATEST[dtype] * (1 - ROUNDOFF[dtype])
        off |= np.isfinite(want) & ~np.isfinite(wide) & np.isfinite(allowed)
        off &= np.isfinite(want) & ~(beyond & ~(np.abs(wide) <= GREATEST[dtype] / 4))  # inf, or nan of two of them
        if place[0] == 0:
            off |= np.isinf(want) & (wide != want) | np.isnan(want) & ~np.isnan(wide)
    if not fits:
        off &= False
    if not off.any():
        return []
    with np.errstate(all="ignore"):
        size = np.where(off, np.where(np.isfinite(wide), np.abs(wide - want) / allowed, np.inf), -1.0)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.nan_to_num(size, nan=np.inf))), off.shape))
    count = f", {int(off.sum())} of {off.size}"
    return [
        Difference(
            case.name, dtype, *place, index, float(wide[index]), float(want[index]), float(allowed[index]), count,
            case.repro,
        )
    ]  # fmt: skip


def check(case: Case, *, programs: bool = False) -> list[Difference]:
    """Compares a case in all its dtypes; what raises is told as a difference, what opsdk refuses by name is not."""
    found: list[Difference] = []
    for dtype in case.dtypes:
        reference = Reference(case, dtype)
        for run in (ours, in_program) if programs else (ours,):
            try:
                found += compare(reference, run)
            except (DerivativeOrderError, GradientMissingError, KernelNotFoundError):
                continue
            except Exception as error:
                told = f", raised {type(error).__name__}: {str(error)[:300]}"
                found.append(Difference(case.name, dtype, -1, 0, (), np.nan, np.nan, 0.0, told, case.repro))
    return found

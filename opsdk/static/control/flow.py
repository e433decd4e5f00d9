"""Branches and loops of a Program: `cond`, `case`, `switch_case`, `while_loop`; on tensors they are Python's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opsdk.core.errors import AttributeValueError, ProgramError
from opsdk.core.origin import trimming
from opsdk.core.spec import shape_text
from opsdk.static.control.body import Opened, as_array
from opsdk.static.control.ops import cond as _cond
from opsdk.static.control.ops import joined, parted
from opsdk.static.control.ops import while_loop as _while_loop
from opsdk.static.ir.program import Program, default_main_program, default_startup_program
from opsdk.static.ir.variable import Variable

# Any, in this file: functions of every signature; tensors, Variables, numbers, and containers of them.


@trimming
def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
    return_names: Sequence[str] | None = None,
) -> Any:
    """Returns what one of two functions gives: `true_fn` where `pred` is true, else `false_fn`.

    Of a Variable both are called once, now, and become bodies of one operator; a run does what one of them says, with
    whatever they read from around. On a tensor, or a bool, the one is called. Differentiable, to any order, through
    the body that ran, with respect to all that it reads.

    Args:
        pred: one truth value.
        true_fn: without arguments; None gives None.
        false_fn: likewise; in a Program it gives as many values as `true_fn`, of the same dtypes and dimensions.
        name: accepted for programs written for Paddle.
        return_names: accepted likewise.

    Returns:
        Variables, numbers, and lists, tuples and dictionaries of them; numbers come back as Variables.

    Raises:
        ProgramError: `pred` is no single bool; the functions give different structures, or other things than these.
        InPlaceError: one changes what is from around it in place.

    Example:
        >>> import opsdk
        >>> x = opsdk.to_tensor([1.0, -2.0])
        >>> cond(x.sum() > 0, lambda: x, lambda: -x).numpy()
        array([-1.,  2.], dtype=float32)
    """
    functions = [_called("cond", role, function) for role, function in (("true_fn", true_fn), ("false_fn", false_fn))]
    if not isinstance(pred, Variable):
        return functions[0 if bool(pred) else 1]()
    _check_single("cond: pred", pred, "b", "truth value")
    with _whole(pred.block.program):
        return _branched(pred, functions)


def _branched(pred: Variable, functions: Sequence[Callable[[], Any]]) -> Any:
    opened = [Opened(), Opened()]
    returned = [body.run(function) for body, function in zip(opened, functions, strict=True)]
    left, right = (_flat(each) for each in returned)
    if _shape_of(returned[0]) != _shape_of(returned[1]):
        raise ProgramError(
            f"cond: expected both functions to return one structure, true_fn gave {_shape_of(returned[0])}, false_fn "
            f"{_shape_of(returned[1])}"
        )
    outputs = [[body.output(value) for value in values] for body, values in zip(opened, (left, right), strict=True)]
    for i, (one, other) in enumerate(zip(*outputs, strict=True)):
        if one.dtype != other.dtype or one.ndim != other.ndim:
            raise ProgramError(
                f"cond: expected both functions to return values alike, of value {i} true_fn gave {one.dtype} "
                f"{shape_text(one.spec.shape)}, false_fn {other.dtype} {shape_text(other.spec.shape)}; "
                f"{'reshape' if one.dtype == other.dtype else 'cast'} one"
            )
    if not outputs[0]:
        return returned[0]
    captured = _union(opened)
    then, otherwise = (body.close(captured, made) for body, made in zip(opened, outputs, strict=True))
    given = parted(captured, then.given)
    values, others = _cond(pred, *given, then=then, otherwise=otherwise)
    return _refilled(returned[0], iter(joined(values, others, then.specs)))


@trimming
def case(
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns what the function beside the first true condition gives.

    Args:
        pred_fn_pairs: pairs of a condition and a function, as of `cond`.
        default: where none is true; the last function unless given.
        name: accepted for programs written for Paddle.

    Raises:
        AttributeValueError: there are no pairs.
        ProgramError: as of `cond`.
    """
    pairs = list(pred_fn_pairs)
    if not pairs or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise AttributeValueError(
            f"case: pred_fn_pairs expected pairs of a condition and a function, got {pred_fn_pairs!r:.80}"
        )
    if default is None:
        default = _called("case", "the last function", pairs.pop()[1])
    rest = default
    for pred, function in reversed(pairs):
        rest = _either(pred, _called("case", "a function", function), rest)
    return rest()


def _either(pred: Any, function: Callable[[], Any], rest: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: cond(pred, function, rest)


@trimming
def switch_case(
    branch_index: Any,
    branch_fns: Mapping[int, Callable[[], Any]] | Sequence[Any],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Returns what the function of a number gives.

    Args:
        branch_index: one whole number.
        branch_fns: functions by number, pairs of both, or a list of functions, numbered from 0.
        default: of other numbers; the one of the greatest unless given.
        name: accepted for programs written for Paddle.

    Raises:
        AttributeValueError: there are no functions, or two of one number.
        ProgramError: the number is none; or as of `cond`.
    """
    given = branch_fns.items() if isinstance(branch_fns, Mapping) else branch_fns
    pairs = [(pair[0], pair[1]) if isinstance(pair, (tuple, list)) else (i, pair) for i, pair in enumerate(given)]
    table: dict[Any, Callable[[], Any]] = dict(pairs)
    if not pairs or len(table) < len(pairs) or not all(isinstance(key, int) for key in table):
        raise AttributeValueError(
            f"switch_case: branch_fns expected functions, each of a whole number of its own, got {list(table)}"
        )
    if isinstance(branch_index, Variable):
        _check_single("switch_case: branch_index", branch_index, "iu", "whole number")
    ordered = sorted(table)
    last = table[ordered[-1]] if default is None else default
    return case([(branch_index == number, table[number]) for number in ordered], last)


@trimming
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    is_test: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Returns what values are after a function gave others for them, for as long as a condition gave true.

    With Variables among them both functions are called once, now, and become bodies of one operator. Differentiable
    once, through all turns, whose values are computed again and kept for it. On tensors it is Python's own loop.

    Args:
        cond: takes the loop variables, gives one truth value.
        body: takes the loop variables, gives as many values of the same dtypes and dimensions.
        loop_vars: Variables, numbers, and lists, tuples and dictionaries of them.
        is_test: accepted for programs written for Paddle.
        name: accepted likewise.

    Returns:
        A list like `loop_vars`.

    Raises:
        AttributeValueError: `loop_vars` is empty, or a function cannot be called.
        ProgramError: `cond` gives no single bool, `body` another structure, dtype or number of dimensions.
        InPlaceError: one changes what is from around it in place.
    """
    for role, function in (("cond", cond), ("body", body)):
        if not callable(function):
            raise AttributeValueError(f"while_loop: {role} expected a function, got {type(function).__name__}")
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise AttributeValueError(f"while_loop: loop_vars expected a list of at least one, got {loop_vars!r:.60}")
    state = list(loop_vars)
    leaves = _flat(state)
    if not any(isinstance(leaf, Variable) for leaf in leaves):
        first = cond(*state)
        if not isinstance(first, Variable):
            return _looped(cond, body, state, first)
    program = next((leaf.block.program for leaf in leaves if isinstance(leaf, Variable)), default_main_program())
    with _whole(program):
        return _repeated(program, cond, body, state)


def _repeated(program: Program, cond: Callable[..., Any], body: Callable[..., Any], state: list[Any]) -> list[Any]:
    leaves = _flat(state)
    given = [_variable(program, leaf) for leaf in leaves]
    opened = [Opened(given), Opened(given)]
    args = [_refilled(state, iter(each.inputs)) for each in opened]
    goes_on = opened[0].output(opened[0].run(cond, args[0]))
    _check_single("while_loop: cond", goes_on, "b", "truth value")
    returned = opened[1].run(body, args[1])
    several = isinstance(returned, (list, tuple)) and (len(state) > 1 or len(returned) == 1)
    returned = list(returned) if several else [returned]  # the body of one variable may give it bare
    if _shape_of(returned) != _shape_of(state):
        raise ProgramError(
            f"while_loop: body expected to return what it takes, {_shape_of(state)}, got {_shape_of(returned)}"
        )
    made = [opened[1].output(value) for value in _flat(returned)]
    for i, (value, first) in enumerate(zip(made, given, strict=True)):
        if value.dtype != first.dtype or value.ndim != first.ndim:
            raise ProgramError(
                f"while_loop: body expected to keep dtype and dimensions, of loop variable {i} it takes {first.dtype} "
                f"{shape_text(first.spec.shape)} and gives {value.dtype} {shape_text(value.spec.shape)}; "
                f"{'reshape' if value.dtype == first.dtype else 'cast'} it"
            )
    captured = _union(opened)
    bodies = opened[0].close(captured, [goes_on]), opened[1].close(captured, made)
    entering = parted([*given, *captured], bodies[1].given)
    values, others = _while_loop(*entering, count=len(given), test=bodies[0], body=bodies[1])
    result = _refilled(state, iter(joined(values, others, bodies[1].specs)))
    assert isinstance(result, list)
    return result


def _looped(cond: Callable[..., Any], body: Callable[..., Any], state: list[Any], goes_on: Any) -> list[Any]:
    while bool(goes_on):
        made = body(*state)
        state = list(made) if isinstance(made, (list, tuple)) else [made]
        goes_on = cond(*state)
    return state


def _called(subject: str, role: str, function: Any) -> Callable[[], Any]:
    if function is None:
        return lambda: None
    if not callable(function):
        raise AttributeValueError(f"{subject}: {role} expected a function, got {type(function).__name__}")
    made: Callable[[], Any] = function
    return made


def _check_single(subject: str, value: Variable, kinds: str, wanted: str) -> None:
    if value.dtype.kind not in kinds or any(size not in (1, None) for size in value.spec.shape):
        raise ProgramError(
            f"{subject} expected one {wanted}, got {value.dtype} {shape_text(value.spec.shape)}; reduce it, by any(), "
            "all() or an index"
        )


@contextmanager
def _whole(program: Program) -> Iterator[None]:
    """Leaves a Program, and the startup Program, as they were where the `with` block raises."""
    with program.global_block().all_or_nothing(), default_startup_program().global_block().all_or_nothing():
        yield


def _variable(program: Any, value: Any) -> Variable:
    if isinstance(value, Variable):
        return value
    made: Variable = program.current_block().create_constant(as_array(value))
    return made


def _union(opened: Sequence[Opened]) -> list[Variable]:
    """Returns what several bodies read from around, each once."""
    return list({id(value): value for body in opened for value in body.captured}.values())


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for entry in value.values() for leaf in _flat(entry)]
    if isinstance(value, (list, tuple)):
        return [leaf for entry in value for leaf in _flat(entry)]
    return [] if value is None else [value]


def _shape_of(value: Any) -> Any:
    """Returns the structure of what a function returned, to be compared and shown."""
    if isinstance(value, dict):
        return {key: _shape_of(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shape_of(entry) for entry in value]
    return None if value is None else "a value"


def _refilled(value: Any, leaves: Any) -> Any:
    if isinstance(value, dict):
        return {key: _refilled(entry, leaves) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        made = [_refilled(entry, leaves) for entry in value]
        return made if isinstance(value, list) else tuple(made)
    return None if value is None else next(leaves)

"""The decorator `primitive`: an operation of a user's own for expressions, defined once for every place they run at."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replaced
from functools import partial
from typing import Any, overload

from opsdk.core.errors import BindingError, DefinitionError, NameClashError, OpsdkError
from opsdk.core.origin import Origin, loading, origin_of, registrar
from opsdk.define.definition import name_for, namespace_of
from opsdk.define.identity.digest import digest_of, text_of
from opsdk.define.op import REGISTRY, Op
from opsdk.expr.count import cost, substitute
from opsdk.expr.decorators import elementwise
from opsdk.expr.gradient.derivative import reverse
from opsdk.expr.node import DIGEST, FLOAT, Node, constant
from opsdk.expr.primitives.accuracy import check_accuracy, check_derivative
from opsdk.expr.primitives.body import Body
from opsdk.expr.primitives.entry import PRIMITIVES, REAL_ONLY, WHOLE, Primitive, as_floats, enter
from opsdk.expr.primitives.function import function_of
from opsdk.expr.symbol import Symbol, Written, as_node
from opsdk.expr.trace import located

_MOST_OPERANDS = 3
_FOREIGN = 40  # what a call of a function costs that nothing is known of
_RESULT = "y"  # what a derivative calls the result
_OPS: dict[tuple[str, Origin], Op] = {}  # by name of a node, and where that is defined
# By `namespace::name` whoever has it now, and who defined that.
_HELD: dict[str, tuple[Primitive, str]] = REGISTRY.scoped_beside({})


# Any, in this file: functions of symbols and of arrays, of any signature.
@overload
def primitive(definition: Callable[..., Any]) -> Callable[..., Any]: ...


@overload
def primitive(
    definition: None = None,
    *,
    derivative: Callable[..., Any] | None = ...,
    ulp: float | tuple[float, float] = ...,
    least: float | Callable[..., Any] = ...,
    numpy: Callable[..., Any] | None = ...,
    c: str | None = ...,
    domain: Mapping[str, tuple[float | None, float | None]] | None = ...,
    name: str | None = ...,
    namespace: str | None = ...,
    replace: bool = ...,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def primitive(
    definition: Callable[..., Any] | None = None,
    *,
    derivative: Callable[..., Any] | None = None,
    ulp: float | tuple[float, float] = 4.0,
    least: float | Callable[..., Any] = 0.0,
    numpy: Callable[..., Any] | None = None,
    c: str | None = None,
    domain: Mapping[str, tuple[float | None, float | None]] | None = None,
    name: str | None = None,
    namespace: str | None = None,
    replace: bool = False,
) -> Callable[..., Any]:
    """Defines an operation of expressions: one node with a derivative and an accuracy of its own.

    The function is the body. It is called once with symbols and may use what an expression may: operators, comparisons
    and `opsdk.vmath`, and other primitives of one's own. From the body come the code in expressions and rows on the CPU
    and on CUDA, in Numba kernels, and in C source, and the value on the arrays of any module.

    Args:
        definition: the body, a function of 1 to 3 scalars, its operands.
        derivative: a function of operands and of the result, `y` (`out` where an operand has that name), by name; gives
            the partial derivative as an expression, of several operands a tuple, None for one without any. The chain
            rule through the body unless given.
        ulp: the largest error that is promised, in units in the last place; a pair for float32 and float64.
        least: of the operands, as float64 arrays, the size whose unit counts where the result is smaller; for a
            function whose terms cancel near its zeros. A number, or a function.
        numpy: says on NumPy arrays what is right, in place of the body: a second opinion, and the reference of ops.
        c: the body in C instead: statements that return a `real`, which is float or double, from operands of that type;
            functions of <tgmath.h> may be called. The function then says on NumPy arrays what is right, and the
            derivative has to be given. The two are compared when it is first compiled. Loops over it are not vectorised
            by Numba, and CUDA has none of it.
        domain: by name of an operand the least and the greatest value that the promise is about; None for no bound.
        name: where it is not the function's.
        namespace: where it is not the defining package.
        replace: takes the name from a definition of another file.

    Returns:
        The function of symbols, arrays, tensors, Variables and of numbers inside Numba kernels.

    Raises:
        TraceError: the body or the derivative tests, converts or indexes a symbol, or returns no expression.
        BindingError: the derivative has a parameter that is neither an operand nor the result.
        DefinitionError: operands, name, promise or domain are none; the derivative is not that of the body; the body
            is further from what is right than promised.
        NameClashError: another file has the name.

    Example:
        >>> import numpy as np
        >>> @primitive(derivative=lambda x, y: (1 - abs(y)) ** 2, namespace="doc")
        ... def softsign(x):
        ...     return x / (1 + abs(x))
        >>> softsign(np.array([-1.0, 0.0, 3.0]))
        array([-0.5 ,  0.  ,  0.75])
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        own = name_for(function) if name is None else name
        space = namespace_of(function) if namespace is None else namespace
        subject = f"primitive {f'{space}::{own}'!r}"
        operands = _operands(function, own, subject)
        if c is not None and (derivative is None or numpy is not None):
            raise DefinitionError(
                f"{subject}: a body in C expected a derivative, which cannot be read from it, and its function to say "
                f"what is right, got {'no derivative' if derivative is None else 'numpy= beside it'}; pass derivative="
            )
        body = None if c is not None else Body(lambda: function, operands, subject)
        root = None if body is None else body.root  # read now, so that mistakes are told at their line
        meaning = _as_numpy(function if numpy is None else numpy, body) if body is None or numpy is not None else body
        slopes = None if derivative is None else _slopes(derivative, operands, subject)
        promised = _promised(ulp, subject)
        bounds = _bounds(domain, operands, subject)
        digest = digest_of(
            f"{space}::{own}",
            text_of(function) if body is None else body.expression.text,
            c or "",
            "" if slopes is None else repr(slopes),
            repr((promised, sorted(bounds.items()))),
            "" if least == 0.0 else text_of(least),
            "" if numpy is None else text_of(numpy),
        )
        made = Primitive(
            f"{own}{DIGEST}{digest}",
            operands,
            (FLOAT,) * len(operands),
            FLOAT,
            as_floats(meaning, WHOLE),
            rule=_by_chain(root, operands) if slopes is None and root is not None else _rule(slopes or (), operands),
            doc=inspect.getdoc(function) or f"Returns {own} of {', '.join(operands)}.",
            function=own,
            c=f"opsdk_{own}{DIGEST}{digest}{{f}}({', '.join(f'{{{place}}}' for place in range(len(operands)))})",
            c_source="" if c is None else _c_function(f"{own}{DIGEST}{digest}", operands, c),
            body=body,
            cost=_FOREIGN if root is None else max(1, cost([root]) // 2),  # in one loop each is cheaper than alone
            ulp=promised,
            least=_least(least),
            complex=REAL_ONLY,
            origin=origin_of(function),
            loaded_by=loading(),
            domain=bounds,
            namespace=space,
            right=function if body is None else numpy,
        )
        return _admitted(made, function, bounds, is_given=slopes is not None, replace=replace)

    return register if definition is None else register(definition)


def _admitted(
    made: Primitive,
    function: Callable[..., Any],
    bounds: Mapping[str, tuple[float | None, float | None]],
    *,
    is_given: bool,
    replace: bool,
) -> Callable[..., Any]:
    """Returns the function of a primitive that is right and may have its name; of the same definition, the one before.

    Raises:
        NameClashError: another file has the name.
        DefinitionError: its derivative, or its accuracy, is not what it says.
    """
    full, origin = made.full_name, made.origin or Origin("", 0)
    subject = f"primitive {full!r}"
    owner = registrar(origin)
    with REGISTRY.lock:
        held, by = _HELD.get(full, (None, ""))
        if held is not None and held.name == made.name and held.public is not None:
            return held.public
        if held is not None and by != owner and not replace:
            raise NameClashError(
                f"{subject}: registered by {held.origin}, got another definition from {origin}; rename it or pass "
                "replace=True"
            )
        public = function_of(made, function.__module__)
        made = replaced(made, public=public)
        enter(made)  # the checks compute with it; nobody else knows its name yet
        if is_given:
            check_derivative(made, bounds, subject)
        if made.body is not None:  # one in C is compiled when it is first used, and compared then
            check_accuracy(made)
        if held is not None and by == owner and not replace:
            sys.stderr.write(f"{full} redefined ({origin} over {held.origin})\n")
        _HELD[full] = made, owner
        return public


def primitives() -> list[Primitive]:
    """Returns the primitives of users whose names are theirs now, sorted by name."""
    return [_HELD[name][0] for name in sorted(_HELD)]


def primitive_of(function: Any) -> Primitive | None:
    """Returns the primitive of a user that a function is, also one that another definition took the name of."""
    return next((each for each in list(PRIMITIVES.values()) if each.public and each.public is function), None)


def op_of(primitive: Primitive) -> Op:
    """Returns the op that computes a user's primitive and nothing else; it is called like it, and not registered."""
    key = primitive.name, primitive.origin or Origin("", 0)
    with REGISTRY.lock:
        if key not in _OPS:
            operands = ", ".join(f"Tensor {name}" for name in primitive.operands)
            made = elementwise(f"{primitive.full_name}({operands}) -> Tensor", domain=primitive.domain or None)
            with REGISTRY.scoped():
                REGISTRY.remove(primitive.full_name)  # an op may be called like that
                _OPS[key] = made(function_of(primitive, key[1].module))
        return _OPS[key]


def _operands(function: Callable[..., Any], name: str, subject: str) -> tuple[str, ...]:
    """Returns the names of the operands.

    Raises:
        DefinitionError: the name is none for a primitive, or the parameters are no operands.
    """
    if DIGEST in name or not name.isidentifier():
        raise DefinitionError(
            f"{subject}: name expected letters, digits and single underscores, got {name!r}; pass name='...'"
        )
    parameters = inspect.signature(function).parameters.values()
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
    if len(plain) != len(parameters) or not 1 <= len(plain) <= _MOST_OPERANDS:
        told = ", ".join(map(str, parameters))
        raise DefinitionError(
            f"{subject}: expected 1 to {_MOST_OPERANDS} operands without defaults, got ({told}); an attribute of an op "
            "is passed as an operand"
        )
    return tuple(plain)


def _slopes(derivative: Callable[..., Any], operands: Sequence[str], subject: str) -> tuple[Node | None, ...]:
    """Returns what a derivative gives for symbols: an expression per operand; None for one that has none.

    Raises:
        BindingError: it has a parameter that is neither an operand nor the result.
        DefinitionError: it is no function, or does not give one for each operand.
    """
    result = "out" if _RESULT in operands else _RESULT
    known = (*operands, result)
    if not callable(derivative):
        several = f"a tuple of {len(operands)} partial derivatives, None for an operand without one"
        raise DefinitionError(
            f"{subject}, derivative: expected one function of {', '.join(known)} that gives "
            f"{'the derivative' if len(operands) == 1 else several}, got {derivative!r}; write "
            f"derivative=lambda {', '.join(known)}: {'...' if len(operands) == 1 else '(..., None)'}"
        )
    parameters = list(inspect.signature(derivative).parameters)
    for each in parameters:
        if each not in known:
            raise BindingError(
                f"{subject}, derivative({', '.join(parameters)}): nothing is called {each!r}; there are "
                f"{', '.join(known)}, of which {result} is the result"
            )
    try:
        given = derivative(**{each: Written(Node("input", (), each)) for each in parameters})
        values = given if isinstance(given, tuple) else (given,)
        if len(values) != len(operands):
            raise DefinitionError(
                f"{subject}, derivative: expected {len(operands)} partial derivatives, one for each of "
                f"{', '.join(operands)}, got {len(values)}"
            )
        return tuple(None if value is None else as_node(value, "derivative") for value in values)
    except OpsdkError as error:
        if isinstance(error, DefinitionError):
            raise
        raise located(error, derivative, f"{subject}, derivative") from None


def _rule(slopes: Sequence[Node | None], operands: Sequence[str]) -> Callable[..., Any]:
    result = "out" if _RESULT in operands else _RESULT
    names = [Node("input", (), name) for name in (result, *operands)]

    def rule(*symbols: Symbol) -> tuple[Symbol | None, ...]:
        given = dict(zip(names, [symbol.node for symbol in symbols], strict=True))
        return tuple(None if slope is None else Symbol(*substitute([slope], given)) for slope in slopes)

    return rule


def _by_chain(root: Node, operands: Sequence[str]) -> Callable[..., Any]:
    """Returns the rule that follows from the body."""
    leaves = [Node("input", (), name) for name in operands]

    def rule(_: Symbol, *symbols: Symbol) -> tuple[Symbol, ...]:
        given = dict(zip(leaves, [symbol.node for symbol in symbols], strict=True))
        return tuple(map(Symbol, substitute(reverse([root], [constant(1.0)], leaves), given)))

    return rule


def _c_function(name: str, operands: Sequence[str], statements: str) -> str:
    """Returns the C function of a body, as a template of `real` and `f`."""
    text = re.sub(r"\breal\b", "{real}", statements.replace("{", "{{").replace("}", "}}"))
    given = ", ".join(f"{{real}} {each}" for each in operands)
    return f"#include <tgmath.h>\nstatic inline {{real}} opsdk_{name}{{f}}({given}) {{{{\n{text}\n}}}}\n"


def _as_numpy(function: Callable[..., Any], body: Body | None) -> Callable[..., Any]:
    """Returns a meaning that is a function's on NumPy's arrays, in their dtype, and the body's on others."""

    def meaning(xp: Any, *values: Any) -> Any:
        if xp.__name__ != "numpy" and body is not None:
            return body(xp, *values)
        made, dtypes = function(*values), [value.dtype for value in values if hasattr(value, "dtype")]
        return made.astype(xp.result_type(*dtypes), copy=False) if dtypes and hasattr(made, "astype") else made

    return meaning


def _promised(ulp: Any, subject: str) -> tuple[float, float]:
    """Returns the promise for float32 and for float64.

    Raises:
        DefinitionError: it is none.
    """
    pair = ulp if isinstance(ulp, tuple) else (ulp, ulp)
    if len(pair) != 2 or not all(isinstance(each, (int, float)) and each >= 0.5 for each in pair):
        raise DefinitionError(
            f"{subject}: ulp expected a number of units in the last place, at least 0.5, or one for float32 and one "
            f"for float64, got {ulp!r}; leave it out for 4"
        )
    return float(pair[0]), float(pair[1])


def _bounds(domain: Any, operands: Sequence[str], subject: str) -> dict[str, tuple[float | None, float | None]]:
    """Returns the bounds by name of an operand.

    Raises:
        DefinitionError: they are none.
    """
    given = {} if domain is None else dict(domain)
    for name, pair in given.items():
        if name not in operands:
            raise DefinitionError(f"{subject}, domain: nothing is called {name!r}; there are {', '.join(operands)}")
        if not isinstance(pair, tuple) or len(pair) != 2 or any(isinstance(each, str) for each in pair):
            raise DefinitionError(
                f"{subject}, domain: {name} expected (least, greatest), each a number or None, got {pair!r}; write "
                "(0.0, None)"
            )
        low, high = (None if end is None or math.isinf(end) else end for end in pair)
        if low is not None and high is not None and low > high:
            raise DefinitionError(f"{subject}, domain: {name} expected its least number first, got {pair!r}; swap them")
        given[name] = low, high
    return given


def _least(least: float | Callable[..., Any]) -> Callable[..., Any] | None:
    if callable(least):
        return least
    return partial(_always, float(least)) if least else None


def _always(size: float, *operands: Any) -> float:
    return size

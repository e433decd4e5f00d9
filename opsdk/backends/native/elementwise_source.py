"""The loop of an elementwise kernel, as Python source for Numba.

A short body is one loop, which LLVM turns into vector code. A long one is cut into stages, each a short loop over a
tile that stays in the first cache: one loop over many functions runs out of registers, and LLVM makes it scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.expr.count import reach, weight
from opsdk.expr.exact import may_round
from opsdk.expr.node import BOOL, Node
from opsdk.expr.simplify import gated
from opsdk.expr.source import Statement, python_lines
from opsdk.expr.trace import Expression

TILE = 1024  # elements of one stage; eight buffers of float32 fill 32 KiB
STAGE_COST = 26  # in the units of `cost`: two or three functions such as exp
INEXACT = 5  # a status: a whole number, or a position, that the computation does not hold
_PLAIN = 3  # what costs no more than this is no function, and may make a stage longer


def kernel_source(
    expression: Expression, dtypes: Sequence[str], outputs: Sequence[str], whole: Sequence[str] = ()
) -> str:
    """Returns source that defines `kernel(start, stop, sizes, *pointers, *attributes)` of contiguous operands.

    Args:
        expression: what to compute.
        dtypes: names of the inputs' dtypes.
        outputs: names of the dtypes of the results that are wanted.
        whole: attributes that are whole numbers; the kernel refuses one that would be rounded.
    """
    names = {Node("input", (), name): f"x{i}" for i, name in enumerate(expression.inputs)}
    names |= {Node("attr", (), name): f"a{i}" for i, name in enumerate(expression.attrs)}
    # Which results are wanted should change little of those that are, so several results are left as they stand.
    roots = gated(expression.wanted) if len(expression.outputs) == 1 else expression.wanted
    made, results = python_lines(roots, names)
    loads = {f"x{i}": load_text(f"p{i}", dtype) for i, dtype in enumerate(dtypes)}
    compute = np.dtype("float64" if "float64" in outputs else "float32")
    tests = {f"x{i}": inexact_text(f"p{i}", dtype, compute) for i, dtype in enumerate(dtypes)}
    checks = {name: f"off |= {test}" for name, test in tests.items() if test}
    stores = [
        store_text(f"p{len(dtypes) + i}", dtype, result)
        for i, (dtype, result) in enumerate(zip(outputs, results, strict=True))
    ]
    pointers = [f"p{i}" for i in range(len(dtypes) + len(outputs))]
    raw = [f"s{i}" for i in range(len(expression.attrs))]
    head = [f"def kernel({', '.join(('start', 'stop', 'sizes', *pointers, *raw))}):"]
    head += [f"    {line}" for line in refusals(expression.attrs, whole)]
    head += [f"    a{i} = real(s{i})" for i in range(len(raw))]
    ended = ["    return int32(0)", ""]
    if checks:
        head.append("    off = int64(0)")
        ended[0] = f"    return int32({INEXACT} if off else 0)"
    stages = cut(made)
    if len(stages) < 2:
        used = _used([statement.text for statement in made] + results, loads)
        body = [f"        {checks[name].format(i='i')}" for name in used if name in checks]
        body += [f"        {name} = {loads[name].format(i='i')}" for name in used]
        body += [f"        {statement.name} = {statement.text}" for statement in made]
        body += [f"        {store.format(i='i')}" for store in stores]
        return "\n".join([*head, "    for i in range(start, stop):", *body, *ended])
    return _tiled(head, stages, loads, checks, stores, results, ended)


def is_tiled(source: str) -> bool:
    """Returns whether a kernel goes over its elements in tiles."""
    return f", {TILE}):" in source


def refusals(attrs: Sequence[str], whole: Sequence[str]) -> list[str]:
    """Returns the lines that leave a kernel where an attribute is no longer the whole number that it was given."""
    raw = [f"s{i}" for i, name in enumerate(attrs) if name in whole]
    tests = [f"not abs({name}) <= {2.0**63} or int64({name}) != {name} or real({name}) != {name}" for name in raw]
    return [f"if {' or '.join(tests)}: return int32({INEXACT})"] if raw else []


def load_text(pointer: str, dtype: str) -> str:
    """Returns how an element is read, with `{i}` for its index."""
    if dtype in ("float16", "bfloat16"):
        return f"real(from_{dtype}({pointer}[{{i}}]))"
    if dtype == "bool":  # NumPy takes every byte but 0 for True, as in a mask of 255s that is viewed as bools
        return f"real({pointer}[{{i}}] != 0)"
    return f"real({pointer}[{{i}}])"


def inexact_text(pointer: str, dtype: str, compute: np.dtype[Any]) -> str:
    """Returns what is 1 for an element that would be rounded, with `{i}` for its index; nothing where none would be."""
    if "int" not in dtype or not may_round(np.dtype(dtype), compute):
        return ""
    value = f"{pointer}[{{i}}]" if dtype == "uint64" else f"int64({pointer}[{{i}}])"
    return f"inexact({value}, {np.finfo(compute).nmant + 1})"


def store_text(pointer: str, dtype: str, value: str) -> str:
    """Returns how a result is written, with `{i}` for its index."""
    if dtype in ("float16", "bfloat16"):
        return f"{pointer}[{{i}}] = to_{dtype}({value})"
    return f"{pointer}[{{i}}] = {value}"


def cut(made: Sequence[Statement]) -> list[list[Statement]]:
    """Returns the statements in stages, none with functions of more than `STAGE_COST` unless it is one function."""
    stages: list[list[Statement]] = [[]]
    spent = 0
    seen: set[Node] = set()
    for statement in made:
        work = weight(statement.node, seen)
        if stages[-1] and spent + work > (STAGE_COST if work > _PLAIN else 2 * STAGE_COST):
            stages.append([])
            seen = set()
            spent, work = 0, weight(statement.node, seen)
        stages[-1].append(statement)
        reach(statement.node, seen)
        spent += work
    return stages


def _tiled(
    head: Sequence[str],
    stages: Sequence[Sequence[Statement]],
    loads: dict[str, str],
    checks: dict[str, str],
    stores: Sequence[str],
    results: Sequence[str],
    ended: Sequence[str],
) -> str:
    home = {statement.name: i for i, stage in enumerate(stages) for statement in stage}
    is_bool = {statement.name: statement.node.kind == BOOL for stage in stages for statement in stage}
    last = len(stages) - 1
    final = dict.fromkeys(home, 0)  # the last stage that reads a value
    for i, stage in enumerate(stages):
        for statement in stage:
            for name in _used([statement.text], home):
                final[name] = max(final[name], i)
    for name in _used(list(results), home):
        final[name] = last
    slots: dict[str, int] = {}
    free: list[int] = []
    count = 0
    body: list[str] = []
    for i, stage in enumerate(stages):
        own = {statement.name for statement in stage}
        texts = [statement.text for statement in stage] + (list(results) if i == last else [])
        body.append("        for j in range(size):")
        for name in _used(texts, loads):
            lines = [checks.pop(name, ""), f"{name} = {loads[name]}"]  # an element is checked where it is first read
            body += [f"            {line.format(i='base + j')}" for line in lines if line]
        for name in _used(texts, home):
            if name not in own:
                body.append(f"            {name} = b{slots[name]}[j]{' != real(0)' if is_bool[name] else ''}")
        body += [f"            {statement.name} = {statement.text}" for statement in stage]
        free += [slots.pop(name) for name in list(slots) if final[name] == i]
        for statement in stage:
            if final[statement.name] > i:
                if not free:
                    free.append(count)
                    count += 1
                slots[statement.name] = free.pop()
                value = f"real(1) if {statement.name} else real(0)" if is_bool[statement.name] else statement.name
                body.append(f"            b{slots[statement.name]}[j] = {value}")
        if i == last:
            body += [f"            {store.format(i='base + j')}" for store in stores]
    lines = [
        *head,
        *[f"    b{i} = buffer()" for i in range(count)],
        f"    for base in range(start, stop, {TILE}):",
        f"        size = min(stop - base, {TILE})",
        *body,
        *ended,
    ]
    return "\n".join(lines)


def _used(texts: Sequence[str], names: Sequence[str] | dict[str, str] | dict[str, int]) -> list[str]:
    words = {word for text in texts for word in "".join(c if c.isalnum() else " " for c in text).split()}
    return [name for name in names if name in words]

"""Where the calls come from: an op's own samples, those of the op it is the gradient of, or defaults by its schema.

Samples as their author gave them are made calls, each; what is no sample is named as such.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call.arrays import as_arrays
from opsdk.core.errors import AttributeValueError, DefinitionError, UnknownOpError
from opsdk.core.origin import origin_of
from opsdk.define.call import bind
from opsdk.define.op import find_op
from opsdk.define.opdef import OpDef
from opsdk.define.sample import Sample
from opsdk.verify.gradients import carried, draw_cotangents, gradient_call
from opsdk.verify.inputs.attributes import draws, needed
from opsdk.verify.inputs.calls import Call, flat, is_inexact
from opsdk.verify.inputs.domains import broken, wrongly_kept
from opsdk.verify.inputs.stock import default_calls, is_ordinary, other_calls, pierced
from opsdk.verify.kernels.launch import launch

SAMPLES = "samples"  # the check that finds an op's own to be unusable; it is of the op, not of a kernel


class UnusableSamplesError(DefinitionError):
    """What an op has under `@op.samples` raises, or yields something else than samples of the op."""


# Any: what the caller gave, of whatever type.
def samples_given(samples: Any) -> list[Sample]:
    """Returns the `samples=` of verify as a list.

    Raises:
        AttributeValueError: they are not some Samples.
    """
    if isinstance(samples, (Sample, str)) or not isinstance(samples, Iterable):
        raise AttributeValueError(
            f"verify: samples expected a list of opsdk.Sample, got {_kind(samples)}; write samples=[opsdk.Sample(...)]"
        )
    listed = list(samples)
    for position, sample in enumerate(listed):
        if not isinstance(sample, Sample):
            raise AttributeValueError(
                f"verify: samples[{position}] expected an opsdk.Sample, got {_kind(sample)}; "
                "write samples=[opsdk.Sample(...)]"
            )
    return listed


# Any: an author's function of any signature.
def calls_of_samples(opdef: OpDef, function: Callable[..., Any], rng: np.random.Generator) -> list[Call]:
    """Returns the calls of an op's own samples.

    Raises:
        UnusableSamplesError: there are none to be had; the message says what came instead.
    """
    at = str(origin_of(function))
    subject = f"{opdef.subject}, samples: expected opsdk.Samples"
    remedy = "yield opsdk.Sample(...)"
    calls: list[Call] = []
    try:
        made = function(*(rng,) * min(len(inspect.signature(function).parameters), 1))
        found = list(made) if isinstance(made, Iterable) and not isinstance(made, Sample) else None
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise UnusableSamplesError(f"{subject}, raised {raised}; {remedy}", at=at) from error
    if found is None:
        raise UnusableSamplesError(f"{subject}, got {_kind(made)}; {remedy}", at=at)
    for position, sample in enumerate(found):
        if not isinstance(sample, Sample):
            raise UnusableSamplesError(f"{subject}, got {_kind(sample)} at position {position}; {remedy}", at=at)
        try:
            calls.append(from_sample(opdef, sample))
        except Exception as error:
            raise UnusableSamplesError(
                f"{subject} that fit {opdef.schema}, got {sample!r} at position {position}, "
                f"which raised {type(error).__name__}: {error}; {remedy}",
                at=at,
            ) from error
    return calls


def from_sample(opdef: OpDef, sample: Sample) -> Call:
    """Returns the call that a sample is.

    Raises:
        OpsdkError: it does not fit the op's signature.
    """
    inputs, attrs = bind(opdef, sample.inputs, sample.attrs)
    return Call(as_arrays(opdef, inputs), {**attrs, **draws(opdef, attrs)}, sample.reason)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def calls_of(opdef: OpDef, samples: Iterable[Sample] | None, seed: int) -> list[Call]:
    """Returns the calls to try an op on.

    Args:
        opdef: the op.
        samples: used instead of the op's own, where given.
        seed: of the random values; every source gets a generator of its own.

    Raises:
        UnusableSamplesError: the op's own samples cannot be had, or are none, or a sample lies outside the domain.
    """
    rng = np.random.default_rng([seed, 5])
    if samples is not None:
        return _inside_domain(opdef, [from_sample(opdef, sample) for sample in samples])
    if opdef.samples is not None:
        return _with_a_hole(opdef, _inside_domain(opdef, calls_of_samples(opdef, opdef.samples, rng)))
    forward = forward_of(opdef)
    if forward is not None:
        return list(_derived(forward, seed))
    return _with_needed(opdef, default_calls(opdef, rng))


def _with_needed(opdef: OpDef, calls: Iterable[Call]) -> list[Call]:
    given = needed(opdef)
    return [replace(call, attrs={**given, **call.attrs}) if given else call for call in calls]


def other_calls_of(opdef: OpDef, seed: int) -> list[Call]:
    """Returns calls of other lengths and more axes, for an op without samples that refuses all ordinary ones."""
    if opdef.samples is not None or opdef.gradient_of is not None:
        return []
    return _with_needed(opdef, other_calls(opdef, np.random.default_rng([seed, 6])))


def _inside_domain(opdef: OpDef, calls: list[Call]) -> list[Call]:
    """Returns calls that lie inside the op's domain, all.

    Raises:
        UnusableSamplesError: one does not; the message has the sample, the input, what was declared and the element.
    """
    for call in calls:
        problem = broken(opdef, call)
        if problem:
            at = str(opdef.origin if opdef.samples is None else origin_of(opdef.samples))
            raise UnusableSamplesError(
                f"{opdef.subject}, samples: expected {problem}, in sample {call}; correct the sample or the domain",
                at=at,
            )
    return calls


def forward_of(opdef: OpDef) -> OpDef | None:
    """Returns the op that this one is the gradient of, if it still is."""
    if opdef.gradient_of is None:
        return None
    try:
        forward = find_op(opdef.gradient_of).opdef
    except UnknownOpError:
        return None
    return forward if forward.grad is not None and forward.grad.op.opdef.kernels is opdef.kernels else None


def _derived(forward: OpDef, seed: int) -> Iterator[Call]:
    """Yields calls of a gradient op: those of the op whose gradient it is, and random cotangents."""
    try:
        calls = calls_of(forward, None, seed)
    except UnusableSamplesError:  # the forward's own report says so
        return
    rng = np.random.default_rng([seed, 7])
    made = list(derive(forward, calls, rng))
    yield from made
    if not any(map(is_ordinary, made)):
        yield from derive(forward, other_calls_of(forward, seed), rng)


def derive(forward: OpDef, calls: Iterable[Call], rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls of a gradient op: the forward runs, and random cotangents enter. What it refuses is left out."""
    assert forward.grad is not None
    for call in calls:
        wanted = flat([call.inputs[i] for i in forward.differentiable_inputs()])
        if any(array.dtype.kind == "c" for array in flat(call.inputs)) and forward.for_complex.grad is not forward.grad:
            continue  # complex gradients are refused, or are another op's
        if not any(map(is_inexact, wanted)):
            continue
        try:
            outputs = launch(forward, forward.kernels.reference(), call.inputs, call.attrs)
        except Exception:  # the forward's own report says so
            continue
        if wrongly_kept(forward, call, outputs.residuals):  # which a compiled backward may go by
            continue
        if any(map(is_inexact, carried(forward, outputs))):
            yield gradient_call(forward, call, outputs, draw_cotangents(forward, outputs, rng))


def _with_a_hole(opdef: OpDef, calls: list[Call]) -> list[Call]:
    """Returns samples, and where none of them has a hole that its list may have one more, which the op may refuse."""
    positions = [i for i, decl in enumerate(opdef.schema.inputs) if decl.holes]
    lists = [(call, call.inputs[i]) for call in calls for i in positions if call.inputs[i]]
    if not lists or any(item is None for _, value in lists for item in value):
        return calls
    first = lists[0][0]
    with_hole = pierced(opdef, first.inputs, 0)
    return [*calls, replace(first, inputs=with_hole, reason="a hole at 0", declared=False, extra=True)]

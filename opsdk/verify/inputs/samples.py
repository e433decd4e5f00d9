"""Samples as their author gave them, each made a call; what is no sample is named as such."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from opsdk.backends.call.arrays import as_arrays
from opsdk.core.errors import AttributeValueError, DefinitionError
from opsdk.core.origin import origin_of
from opsdk.define.call import bind
from opsdk.define.opdef import OpDef
from opsdk.define.sample import Sample
from opsdk.verify.inputs.calls import Call

SAMPLES = "samples"  # the check that finds an op's own to be unusable; it is of the op, not of a row


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
    return Call(as_arrays(opdef, inputs), attrs, sample.reason)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__

"""Relations: what a change of the arguments has to leave of the results, as data, and the one function that judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.checks.agreement import close
from gradcheck.checks.session import Results, Session, copy_arrays
from gradcheck.model.dtypes import Array
from gradcheck.model.evaluation import VjpError
from gradcheck.model.perturb import SIGNS, perturb_inputs
from gradcheck.report import Finding

REPEATS = 2


@dataclass(frozen=True)
class Part:
    """One array that came back beside the one that should.

    Args:
        what: it is called in a sentence.
        input: the name of the input that it is the gradient of, if it is one.
        place: its number among the outputs and gradients of a run.
        got: the array; None for a gradient left out.
        expected: what it should be.
    """

    what: str
    input: str | None
    place: int
    got: Array | None
    expected: Array | None


@dataclass(frozen=True)
class Relation:
    """A claim that results under a change agree with others.

    Args:
        check: the name of the check.
        variant: runs under the change; gives the parts as they come.
        agrees: whether a part is within its allowance.
        sentence: what is said of a part that is not, after its name.
        refusal: what is said of a function that raises, from its name and the reason; None where it may.
        input: the name of the input that is blamed, where it is not that of the part.
        is_told_once: whether one part that differs says as much as all.
    """

    check: str
    variant: Callable[[], Iterable[Part]]
    agrees: Callable[[Part], bool]
    sentence: str
    refusal: Callable[[str, str], str | None]
    input: str | None = None
    is_told_once: bool = False


def judge(relation: Relation) -> list[Finding]:
    """Gives a finding for each part that differs, or for the first, and one for a function that raises."""
    parts: list[Part] = []
    raised: Exception | None = None
    try:
        parts.extend(relation.variant())  # what came before an exception is judged too
    except Exception as error:
        raised = error
    findings = [
        Finding(relation.check, f"{part.what}: {relation.sentence}", input=relation.input or part.input)
        for part in parts
        if not relation.agrees(part)
    ]
    if raised is not None:
        message = relation.refusal(*describe_error(raised))
        findings += [] if message is None else [Finding(relation.check, message, input=relation.input)]
    return findings[:1] if relation.is_told_once else findings


def output_parts(expected: Results, outputs: Sequence[Array]) -> Iterator[Part]:
    """Yields outputs beside those expected."""
    for place, (got, want) in enumerate(zip(copy_arrays(outputs), expected.outputs, strict=False)):
        yield Part(f"output {place}", None, place, got, want)


def gradient_parts(names: Sequence[str], expected: Results, gradients: Sequence[Array | None]) -> Iterator[Part]:
    """Yields gradients beside those expected.

    Raises:
        VjpError: there is another number of them than there are inputs.
    """
    if len(gradients) != len(names):
        raise VjpError(f"{len(gradients)} gradients for {len(names)} inputs")
    for k, (got, want) in enumerate(zip(copy_arrays(gradients), expected.gradients, strict=True)):
        yield Part(f"gradient of {names[k]!r}", names[k], len(expected.outputs) + k, got, want)


def describe_error(error: Exception) -> tuple[str, str]:
    """Gives the function that raised and the reason, in words."""
    return ("vjp", str(error)) if isinstance(error, VjpError) else ("forward", f"{type(error).__name__}: {error}")


class Reactions:
    """Results of inputs that were moved by a rounding, computed where a difference asks for them.

    Where terms cancel, as for parallel vectors in a distance of angles, nothing but rounding is left of a result, and
    the way in which it is computed decides which.

    Args:
        session: whose functions run.
        inputs: where.
        cotangents: for vjp; the usual ones unless given.
        places: of the inputs that move; all unless given.
    """

    def __init__(
        self,
        session: Session,
        inputs: Sequence[object],
        cotangents: Sequence[Array] | None = None,
        places: Sequence[int] | None = None,
    ) -> None:
        self._session, self._inputs, self._cotangents, self._places = session, inputs, cotangents, places

    def explain(self, part: Part) -> bool:
        """Says whether a part differs as far as rounding of the inputs takes it."""
        return close(part.got, part.expected, self._session.eps, [run.arrays[part.place] for run in self.runs])

    @cached_property
    def runs(self) -> list[Results]:
        """The results; fewer than asked for at the edge of what the functions accept."""
        session, runs = self._session, []
        for seed in range(REPEATS):
            generator = np.random.default_rng([session.seed, seed])
            domain = session.subject.domain
            moved = perturb_inputs(self._inputs, session.eps * SIGNS, generator, domain, self._places)
            try:
                runs.append(session.run(moved, self._cotangents))
            except Exception:  # there is no rounding to measure
                continue
        return runs

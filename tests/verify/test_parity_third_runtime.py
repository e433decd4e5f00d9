"""A runtime that `verify` never heard of is judged as soon as it is registered; its gradients are an Application."""

import pytest

import opsdk
from opsdk.backends.call import arrays
from opsdk.backends.call.application import Application
from opsdk.define import frontend
from opsdk.define.frontend import BACKWARD, OUTPUTS, Attempt, register_frontend, register_trial
from opsdk.ops.reduction import sum_to
from opsdk.verify import verify


class Kept:
    """An array, and the call that made it."""

    def __init__(self, array):
        self.array = array
        self.call = None


def each(values, function):
    return [
        [function(item) for item in value] if isinstance(value, list) else None if value is None else function(value)
        for value in values
    ]


def flat(values):
    return [item for value in values for item in (value if isinstance(value, list) else [value]) if item is not None]


class Ledger:
    """The runtime of kept arrays."""

    name = "kept arrays"

    def accepts(self, value):
        return isinstance(value, Kept)

    def apply(self, opdef, inputs, attrs):
        made = arrays.run(opdef, each(inputs, lambda kept: kept.array), attrs)
        outputs = each((made,) if len(opdef.schema.outputs) == 1 else made, Kept)
        for kept in flat(outputs):
            kept.call = inputs, outputs, attrs
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


LEDGER = Ledger()


class LedgerTrial:
    """How it is tried: `bend` and `send` are where a test plants a fault, in outputs and in where gradients go."""

    check = "kept"
    where = "in a ledger"
    has_float32 = True

    def __init__(self, bend=lambda made: made, send=lambda routed: routed):
        self.bend = bend
        self.send = send

    def takes(self, opdef):
        return bool(opdef.schema.inputs) and not opdef.schema.mutated_inputs and opdef.traits.deterministic

    def differentiates(self, opdef):
        return opdef.grad is not None

    def attempts(self, arrays):
        return (Attempt(self.run),)

    def run(self, tried):
        values = [Kept(array) for array in tried.arrays]
        made = tried.apply(values)
        yield OUTPUTS, self.bend([kept.array for kept in made])
        if any(tried.asked):
            yield BACKWARD, ()
            asked = [kept for kept, flag in zip(values, tried.asked, strict=True) if flag]
            given = self.send(gradients(tried.opdef, made, tried.cotangents, asked))
            yield self.check, [given.get(id(kept)) for kept in asked]


def gradients(opdef, made, cotangents, asked):
    """By id of a kept array its gradient."""
    inputs, outputs, attrs = made[0].call
    rule, entering, found = opdef.grad, iter(cotangents), {}
    targets = each(inputs, lambda kept: kept if kept in asked else None)
    application = Application(opdef, rule, attrs, each(outputs, lambda kept: next(entering)), targets)
    pools = {"input": each(inputs, lambda kept: kept.array), "output": each(outputs, lambda kept: kept.array)}
    saved = [pools[source.kind][source.position] for source in rule.sources if source.kind != "cotangent"]
    given = application.op_inputs(saved, None)  # every cotangent is there

    def hold(position, kept, value):
        found[id(kept)] = application.unbroadcast(position, value, kept.array.shape, kept.array.dtype, sum_to)

    application.route(application.gradients(lambda noted: arrays.run(rule.op.opdef, given, noted)), hold)
    return found


@pytest.fixture
def register(monkeypatch):
    monkeypatch.setattr(frontend, "APPLY", dict(frontend.APPLY))
    monkeypatch.setattr(frontend, "_FRONTENDS", list(frontend._FRONTENDS))
    before = list(frontend.TRIALS)

    def register(made):
        register_frontend(LEDGER, Kept)
        register_trial(made)

    yield register
    frontend.TRIALS[:] = before


@pytest.fixture
def blend():
    op = opsdk.op("third::blend(Tensor x, Tensor? w, Tensor[] zs) -> (Tensor y, Tensor u)")(
        lambda x, w, zs: (x * zs[0] if w is None else x * zs[0] + w, sum(z * z for z in zs))
    )
    op.infer(lambda x, w, zs: (x, x))

    @op.backward
    def blend_grad(x, w, zs, dy, du):
        dzs = [2 * z * du + (x * dy if i == 0 else 0) for i, z in enumerate(zs)]
        return dy * zs[0], None if w is None else dy.copy(), dzs

    @op.samples
    def samples(rng):
        three = [rng.normal(size=(3,)) for _ in range(4)]
        yield opsdk.Sample(three[0], three[1], three[2:], reason="all")
        yield opsdk.Sample(three[0], None, three[2:], reason="no w")

    return op


def kept(report):
    return {finding.check: finding.message for finding in report.findings if finding.check.startswith("kept")}


def test_a_third_runtime_is_judged_and_its_check_counted(register, blend):
    register(LedgerTrial())
    report = verify(blend)
    assert report.verdict == "pass", str(report)
    assert {"dynamic", "static", "kept"} <= set(report.coverage.checks)


def test_a_runtime_that_is_not_registered_is_not_judged(blend):
    assert "kept" not in verify(blend).coverage.checks


def test_a_gradient_that_goes_along_the_wrong_edge_is_found(register, blend):
    register(LedgerTrial(send=lambda found: dict(zip(found, reversed(found.values()), strict=True))))
    assert kept(verify(blend))["kept.dx"] == (
        "op 'third::blend', gradient of 'x' in a ledger: expected the bits that arrays give, got others"
    )


def test_a_gradient_that_does_not_come_is_found(register, blend):
    register(LedgerTrial(send=lambda found: {}))
    message = kept(verify(blend))["kept.dzs[1]"]
    assert message.startswith("op 'third::blend', gradient of 'zs[1]' in a ledger: expected [")
    assert message.endswith(" as on arrays, got None")


def test_an_output_that_is_another_is_found(register, blend):
    register(LedgerTrial(bend=lambda made: [made[0] + 1, made[1].astype("float16")]))
    found = kept(verify(blend))
    assert found["kept.y"].endswith("output 'y' in a ledger: expected the bits that arrays give, got others")
    assert "output 'u' in a ledger: expected float64(3,) as on arrays, got float16(3,)" in found["kept.u"]


def test_what_it_raises_is_found(register, blend):
    def refuse(found):
        raise ValueError("no way back")

    register(LedgerTrial(send=refuse))
    message = kept(verify(blend))["kept"]
    assert message.startswith("op 'third::blend', in a ledger: sample (")
    assert message.endswith("expected to run as on arrays, raised ValueError: no way back")


def test_what_an_attempt_is_excused_for_leads_to_the_next(register, blend):
    def refuse(tried):
        raise KeyError("a size")

    made = LedgerTrial()
    permitted = Attempt(refuse, (KeyError, ValueError), (KeyError,), "needs more")
    made.attempts = lambda arrays: (permitted, Attempt(made.run))
    register(made)
    report = verify(blend)
    assert report.verdict == "pass"
    assert "kept" in report.coverage.checks
    assert "third::blend: in a ledger it needs more: 'a size'" in report.coverage.notes


def test_a_trial_takes_the_place_of_the_earlier_one_of_its_check(register, blend):
    register(LedgerTrial(bend=lambda made: made[::-1]))
    register(LedgerTrial())
    assert verify(blend).verdict == "pass"

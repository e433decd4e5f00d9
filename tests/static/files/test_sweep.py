"""Every op, as a Program with its gradients, goes through text and back, and gives the bits of arrays."""

import pytest

import opsdk
import opsdk.verify.run as verify_run
from opsdk.define.frontend import TRIALS
from opsdk.static.run import trial
from opsdk.static.run.executor import Executor
from opsdk.verify.parity import check_runtime
from opsdk.verify.session import Session
from tests.static.files.conftest import read, text_of

NAMES = sorted(
    handle.opdef.name
    for handle in opsdk.REGISTRY
    if not handle.opdef.gradient_of and handle.opdef.name.startswith(("opsdk::", "contrib::"))
)
# An op of each kind: a list of inputs, optional ones, a mutated one, several results, residuals, a composite.
FEW = [
    *("opsdk::concat", "opsdk::batch_norm", "opsdk::conv", "opsdk::layer_norm", "opsdk::max_pool"),
    *("opsdk::matmul", "opsdk::where", "opsdk::cumsum", "opsdk::lstm"),
]


@pytest.fixture
def through_text(monkeypatch):
    """Has each Program that is tried go through text; counts them."""
    seen = []

    class Read(Executor):
        def run(self, program=None, feed=None, fetch_list=None, **options):
            text = text_of(program)
            back = read(text)
            assert text_of(back) == text
            seen.append(text)
            names = [each if isinstance(each, str) else each.name for each in fetch_list]
            return super().run(back, feed, names, **options)

    monkeypatch.setattr(trial, "Executor", Read)
    return seen


def tried(name):
    """Gives the findings of an op in Programs, on its own samples."""
    session = Session(opsdk.find_op(name).opdef, [], 0, 200, level="quick")
    verify_run._find_calls(session, None)
    check_runtime(session, next(each for each in TRIALS if each.check == "static"))
    return session.findings


@pytest.mark.parametrize("name", FEW)
def test_an_op_goes_through_text_and_gives_the_same_bits(through_text, name):
    assert not tried(name)
    assert any('"gradient_of"' in text for text in through_text)


# Every op takes a minute of processor time together; FEW stand for them in make test.
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_op_goes_through_text_and_gives_the_same_bits(through_text, name):
    found = tried(name)
    if opsdk.REGISTRY.get(name).opdef.schema.callables:  # a function is code, unless it is an op
        assert all("code, which no file holds: make it a registered op" in each.message for each in found.values())
        return
    assert not found
    assert through_text or not trial.ProgramTrial().takes(opsdk.REGISTRY.get(name).opdef)

import pytest

from opsdk.ship.machine.fact import Fact


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (Fact("cpu", "AMD, 2 cores"), "AMD, 2 cores"),
        (Fact("cache", "~/.cache/opsdk", "ok", how="writable"), "~/.cache/opsdk ok (writable)"),
        (Fact("C compiler", "", "missing", "apt install gcc"), "missing – apt install gcc"),
        (Fact("numba loop", "got 44, not 45", "broken"), "got 44, not 45 broken"),
    ],
)
def test_a_fact_reads_what_state_remedy(fact, text):
    assert str(fact) == text


def test_beside_others_it_has_its_name():
    assert Fact("jax", "", "missing").short == "jax missing"

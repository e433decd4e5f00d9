import numpy as np

import gradcheck
from gradcheck.model.recall import Recall, one_forward

X = np.array([0.3, -1.2, 2.6])


class Cube:
    """A forward that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x**3


def right(inputs, outputs, cotangents):
    return (3 * inputs[0] ** 2 * cotangents[0],)


def wrong(inputs, outputs, cotangents):
    return (2 * inputs[0] ** 2 * cotangents[0],)


def judged(forward, vjp):
    before = forward.calls
    report = gradcheck.check(forward, vjp, [X], names=["x"], vary=["values"], budget=1500)
    return report, forward.calls - before


def test_a_second_vjp_finds_what_the_first_measured_and_the_reports_are_those_without():
    alone, expected = judged(Cube(), right)
    forward = Cube()
    with one_forward():
        first, cost = judged(forward, right)
        second, again = judged(forward, right)
    assert (first, second) == (alone, alone)
    assert cost == expected
    assert again < expected / 2


def test_a_wrong_vjp_beside_a_right_one_is_found_with_the_same_numbers():
    alone, _ = judged(Cube(), wrong)
    forward = Cube()
    with one_forward():
        assert judged(forward, right)[0].verdict == "pass"
        second, _ = judged(forward, wrong)
    assert second.verdict == "fail"
    assert second.findings == alone.findings


def test_outside_of_such_a_block_nothing_is_kept():
    forward = Cube()
    with one_forward():
        judged(forward, right)
    _, cost = judged(forward, right)
    assert cost == judged(Cube(), right)[1]


def test_what_was_kept_is_of_an_earlier_judgement():
    held = Recall()
    held.keep(("a",), np.ones(2))
    assert held.find(("a",)) is None
    held.settle()
    assert held.find(("a",)).tolist() == [1.0, 1.0]
    held.find(("a",))[0] = 7.0  # whoever gets it may change it
    assert held.find(("a",)).tolist() == [1.0, 1.0]


def test_of_what_gives_other_numbers_for_the_same_inputs_nothing_is_kept():
    held = Recall()
    held.keep(("a",), np.ones(2))
    held.settle()
    held.keep(("b",), np.ones(2))
    held.keep(("b",), np.zeros(2))
    held.settle()
    held.keep(("c",), np.ones(2))
    held.settle()
    assert [held.find((key,)) for key in "abc"] == [None, None, None]


def test_a_forward_that_draws_is_judged_as_it_is_without():
    class Drawn:
        calls = 0

        def __init__(self):
            self._rng = np.random.default_rng(0)

        def __call__(self, x):
            return x**3 + self._rng.normal(scale=1e-3, size=x.shape)

    with one_forward():
        reports = [judged(Drawn(), right)[0] for _ in range(2)]
    assert [report.verdict for report in reports] == ["fail", "fail"]
    assert reports[0].findings == reports[1].findings

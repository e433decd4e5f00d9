"""Lists of tensors on the tape: gradients of lists that nobody wanted, where a further derivative enters."""

import numpy as np
import pytest

import opsdk


@pytest.fixture
def weighted():
    """The sum of a list times w, with a gradient op that leaves out what nobody wants, and a gradient of that."""
    with opsdk.scoped_registry():

        @opsdk.op("t::weighted(Tensor[] xs, Tensor w) -> Tensor y", infer=opsdk.infer.like("w"))
        def weighted(xs, w):
            return sum(xs) * w

        @weighted.backward
        def weighted_grad(xs, w, dy, needs_input_grad):
            dxs = [dy * w for _ in xs] if needs_input_grad[0] else None
            return dxs, sum(xs) * dy if needs_input_grad[1] else None

        @weighted_grad.backward
        def weighted_grad_grad(xs, w, dy, ddxs, ddw):
            return [ddw * dy for _ in xs], dy * sum(ddxs), w * sum(ddxs) + ddw * sum(xs)

        yield weighted


def test_zeros_enter_in_each_place_of_a_list_whose_gradient_nobody_wanted(weighted):
    x = opsdk.to_tensor(np.array([2.0]))
    w, dy = (opsdk.to_tensor(np.array([value]), stop_gradient=False) for value in (3.0, 1.0))
    (dw,) = opsdk.grad(weighted([x, x], w), [w], [dy], create_graph=True)
    assert opsdk.grad(dw, [dy])[0].tolist() == [4.0]

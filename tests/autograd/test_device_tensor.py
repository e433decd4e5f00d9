import numpy as np
import pytest

import opsdk
from opsdk import errors, static

MAKERS = {
    "zeros": lambda **o: opsdk.zeros(2, 3, **o),
    "ones": lambda **o: opsdk.ones([2, 3], **o),
    "empty": lambda **o: opsdk.empty(2, 3, **o),
    "full": lambda **o: opsdk.full((2, 3), 2.0, **o),
    "eye": lambda **o: opsdk.eye(3, **o),
    "arange": lambda **o: opsdk.arange(3.0, **o),
    "linspace": lambda **o: opsdk.linspace(0.0, 1.0, 3, **o),
    "rand": lambda **o: opsdk.rand(2, 3, **o),
    "randn": lambda **o: opsdk.randn(2, 3, **o),
    "uniform": lambda **o: opsdk.uniform([3], **o),
    "normal": lambda **o: opsdk.normal(0.0, 1.0, (3,), **o),
    "zeros_like": lambda **o: opsdk.zeros_like(opsdk.ones([2]), **o),
    "ones_like": lambda **o: opsdk.ones_like(opsdk.ones([2]), **o),
    "empty_like": lambda **o: opsdk.empty_like(opsdk.ones([2]), **o),
    "full_like": lambda **o: opsdk.full_like(opsdk.ones([2]), 3.0, **o),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_tensor_asks_for_gradients_where_it_is_told_to(name):
    x = MAKERS[name](requires_grad=True, device=opsdk.device("cpu"))
    assert (x.requires_grad, MAKERS[name]().requires_grad) == (True, False)
    (x * 3.0).sum().backward()
    assert x.grad.numpy() == pytest.approx(np.full(x.shape, 3.0))


def test_whole_numbers_have_no_gradient():
    with pytest.raises(errors.AttributeValueError, match="arange"):
        opsdk.arange(3, requires_grad=True)
    with pytest.raises(errors.AttributeValueError, match="zeros: requires_grad expected"):
        opsdk.zeros(2, requires_grad="yes")


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: opsdk.rand(4, generator=g),
        lambda g: opsdk.randn(4, generator=g),
        lambda g: opsdk.randint(0, 100, size=(4,), generator=g),
        lambda g: opsdk.randperm(6, generator=g),
    ],
)
def test_a_generator_decides_what_is_drawn(draw):
    g = opsdk.Generator(3)
    first, second = draw(g).tolist(), draw(g).tolist()
    assert first != second
    assert draw(g.manual_seed(3)).tolist() == first
    with pytest.raises(errors.AttributeValueError, match=r"generator expected an opsdk\.Generator or None, got int"):
        draw(3)


def test_a_new_value_of_a_program_asks_for_gradients_too():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [2], "float32")
        assert opsdk.zeros_like(x, requires_grad=True).stop_gradient is False

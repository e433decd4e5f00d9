import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import DefinitionError, DTypeError, MixedRuntimeError
from tests import philox as paper


def test_the_functions_of_vmath_draw_by_key_and_place():
    assert vmath.uniform(5, np.arange(3)).tolist() == [paper.uniform(5, i) for i in range(3)]
    assert int(vmath.random_bits(5, 2)) == paper.words(5, 2)[0]
    assert vmath.normal(5, 3, np.float32).dtype == np.float32
    assert vmath.random_bits(5, 2).dtype == np.uint64
    with pytest.raises(DTypeError, match=r"^vmath.uniform: i expected whole numbers, got float64"):
        vmath.uniform(5, 0.5)


@pytest.mark.parametrize("name", ["random_bits", "uniform", "normal"])
def test_an_expression_has_no_place_to_draw_at(name):
    with pytest.raises(DefinitionError, match=f"vmath.{name}: expected a key and a counter .* got a symbol"):
        opsdk.elementwise("t::f(Tensor x) -> Tensor y")(lambda x: getattr(vmath, name)(3, x))


def test_a_tensor_is_no_counter():
    with pytest.raises(MixedRuntimeError, match=r"vmath.uniform: expected whole numbers or arrays .*, got a Tensor"):
        vmath.uniform(3, opsdk.to_tensor([1]))

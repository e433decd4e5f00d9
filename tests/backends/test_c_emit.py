import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import DefinitionError


@pytest.fixture(autouse=True)
def _scoped():
    with opsdk.REGISTRY.scoped():
        yield


def test_emitted_c_is_a_row_that_broadcasts(rng):
    @opsdk.elementwise(namespace="t")
    def shifted(x, w, *, by: float = 1.0, times: int = 2):
        return vmath.exp(-x * w) * times + by

    shifted.kernel("cpu", language="c", source=opsdk.c_source(shifted))
    assert shifted.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"
    for a, b in (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2,)), ((0, 4), (4,))):
        x, w = rng.normal(size=a), rng.normal(size=b)
        np.testing.assert_allclose(shifted(x, w, by=0.5, times=3), np.exp(-x * w) * 3 + 0.5, rtol=1e-14)


def test_a_gradient_is_emitted_with_all_its_results(rng):
    @opsdk.elementwise(namespace="t")
    def product(x, w):
        return x * w

    product.grad.kernel("cpu", language="c", source=opsdk.c_source(product.grad))
    x, w = (opsdk.to_tensor(rng.normal(size=(3, 2)), stop_gradient=False) for _ in "xw")
    product(x, w).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), w.numpy())
    np.testing.assert_array_equal(w.grad.numpy(), x.numpy())


def test_one_dtype_alone_can_be_emitted():
    @opsdk.elementwise(namespace="t")
    def negated(x):
        return -x

    text = opsdk.c_source(negated, dtypes=("float64",))
    assert "negated_f64" in text
    assert "negated_f32" not in text


def test_an_op_without_an_expression_is_refused():
    with pytest.raises(DefinitionError, match=r"'opsdk::reduce_sum': C source expected an op made with opsdk.element"):
        opsdk.c_source(opsdk.find_op("reduce_sum"))
    with pytest.raises(DefinitionError, match=r"'opsdk::softmax': C source expected an op made with opsdk.element"):
        opsdk.c_source(opsdk.find_op("softmax"))


def test_an_expression_that_depends_on_a_word_is_refused():
    @opsdk.elementwise(namespace="t")
    def either(x, *, how: str = "up"):
        return vmath.ceil(x) if how == "up" else vmath.floor(x)

    with pytest.raises(DefinitionError, match="C source expected attributes that are numbers, got 'how'"):
        opsdk.c_source(either)

import numpy as np
import pytest

import opsdk
from opsdk import errors

EQUATIONS = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "kj,ji": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((5, 2, 3), (5, 3, 4)),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "iij->ji": ((3, 3, 2),),
    "ij->": ((2, 3),),
    "i,j->ij": ((2,), (3,)),
    "...ij,...jk->...ik": ((5, 1, 2, 3), (4, 3, 2)),
    "...,...": ((2, 3), (3,)),
    "bhqd,bhkd->bhqk": ((2, 3, 4, 5), (2, 3, 6, 5)),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 5)),
    "bn,anm,bm->ba": ((2, 3), (5, 3, 4), (2, 4)),
    "a,a,a->a": ((3,), (3,), (3,)),
    "ij,jk->ki": ((2, 1), (3, 4)),
    ",->": ((), ()),
}


def normal(shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_values_are_numpys_and_gradients_those_of_a_product(equation):
    arrays = normal(EQUATIONS[equation])
    wanted = np.einsum(equation, *arrays)
    tensors = [opsdk.to_tensor(x, stop_gradient=False) for x in arrays]
    y = opsdk.einsum(equation, *tensors)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-12, atol=1e-12)
    y.sum().backward()
    for x, tensor in zip(arrays, tensors, strict=True):  # of degree one in each operand
        assert (tensor.grad.numpy() * x).sum() == pytest.approx(wanted.sum(), rel=1e-9)


def test_variables_of_an_open_batch_are_taken():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [None, 2, 3], "float64")
        y = opsdk.einsum("bij,kj->bik", x, np.ones((4, 3)))
    values = normal([(5, 2, 3)])[0]
    (made,) = opsdk.static.Executor().run(main, feed={"x": values}, fetch_list=[y])
    np.testing.assert_allclose(made, np.einsum("bij,kj->bik", values, np.ones((4, 3))), rtol=1e-12)


A, B = normal([(2, 3), (3, 4)])
WRONG = {
    "no equation": (lambda: opsdk.einsum(3, A), errors.AttributeValueError, "equation expected letters as in"),
    "signs": (lambda: opsdk.einsum("i*j", A), errors.AttributeValueError, "equation expected letters as in"),
    "operands": (lambda: opsdk.einsum("ij,jk", A), errors.ArityError, "einsum: expected 2 operands for 'ij,jk', got 1"),
    "axes": (lambda: opsdk.einsum("ijk", A), errors.ShapeError, "'ijk' of 'ijk' expected 3 axes, got 2"),
    "sizes": (lambda: opsdk.einsum("ij,ij", A, B), errors.ShapeError, "'i' of 'ij,ij' expected one size, got 2 and 3"),
    "diagonal": (lambda: opsdk.einsum("ii", A), errors.ShapeError, "'i' expected one size, got 2 and 3"),
    "result": (lambda: opsdk.einsum("ij->x", A), ValueError, "result expected letters of the operands, each once"),
    "twice": (lambda: opsdk.einsum("ij->ii", A), ValueError, "result expected letters of the operands, each once"),
}


@pytest.mark.parametrize(("call", "kind", "text"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_refused_by_name(call, kind, text):
    with pytest.raises(kind, match=text):
        call()

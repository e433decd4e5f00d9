"""Values to many digits: of bodies, of what says in NumPy what is right, and of the table that both are made of."""

import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.expr.primitives.own import primitive_of
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.verify.kernels.exact import FUNCTIONS, exact_values


def exact(body, *operands, **options):
    made = opsdk.primitive(namespace="t", **{"name": "f", "ulp": 1e300, **options})(body)
    return exact_values(primitive_of(made), [np.array(each, np.float64) for each in operands])


def test_a_value_comes_in_two_parts_a_float64_and_what_that_lacks():
    right, rest, known = exact(lambda x: 1 / x, [3.0])
    assert known.all()
    assert right == 1 / 3
    assert rest == pytest.approx(2.0**-54 / 3, rel=1e-12, abs=0.0)  # 53 bits lack a third of the next


def test_what_cancels_in_float64_does_not_in_many_digits():
    right, *_ = exact(lambda x: vmath.exp(x) - 1, [1e-200, 1e-9])
    assert right.tolist() == [1e-200, np.expm1(1e-9)]


def test_what_overflows_on_the_way_has_its_value():
    right, *_ = exact(lambda x: vmath.exp(x) / (1 + vmath.exp(x)), [1000.0, -1e5])
    assert right.tolist() == [1.0, 0.0]


def test_a_function_in_numpys_words_is_followed_through_its_ufuncs():
    def right(x):
        return np.where(x > 0, np.log1p(np.exp(-np.abs(x))) + x, np.arctan2(x, np.hypot(x, 1.0)))

    found, rest, known = exact(lambda x: x, [2.0, -3.0], numpy=right)
    assert known.all()
    with mpmath.workprec(100):
        assert found.tolist() == [float(mpmath.log(1 + mpmath.exp(2))), float(-mpmath.atan(3 / mpmath.sqrt(10)))]
    assert (rest != 0).all()


def test_nothing_is_known_of_zeros_infinities_and_poles_and_of_functions_of_floats_alone():
    assert exact(lambda x: x, [0.0, -0.0, np.inf, np.nan, 1.0])[2].tolist() == [False] * 4 + [True]
    assert exact(lambda x: 1 / (x - 1), [1.0, 3.0], name="g")[2].tolist() == [False, True]
    with np.errstate(all="ignore"):
        assert not exact(lambda x: x, [1.0], name="h", numpy=lambda x: x.astype(float))[2].any()


def test_what_is_no_real_number_is_nan():
    right, _, known = exact(lambda x: vmath.sqrt(x) + vmath.log(x), [-1.0, 4.0])
    assert known.all()
    assert np.isnan(right[0])
    assert right[1] == 2 + np.log(4.0)


def test_a_power_of_a_power_that_no_memory_holds_is_not_asked_for():
    assert exact(lambda x: vmath.exp(vmath.exp(x)), [1.0, 800.0])[2].tolist() == [True, False]


def test_a_body_may_use_other_primitives_and_special_functions():
    half = opsdk.primitive(namespace="t", name="half")(lambda x: x / 2)
    right, *_ = exact(lambda x: half(vmath.lgamma(x)), [10.0])
    assert right == pytest.approx(np.log(362880.0) / 2, rel=1e-16)


def test_without_mpmath_nothing_is_known(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mpmath", None)
    assert not exact(lambda x: x, [1.0])[2].any()


# At 0.3, and at 1.25 and −0.75: Python's own arithmetic and SciPy 1.17.
@pytest.mark.parametrize(
    ("name", "operands", "wanted"),
    [
        ("hypot", (3.0, 4.0), 5.0), ("pow", (2.0, 0.5), 2**0.5), ("exp2", (0.5,), 2**0.5), ("log2", (8.0,), 3.0),
        ("log10", (1e3,), 3.0), ("rsqrt", (4.0,), 0.5), ("cbrt", (-27.0,), -3.0), ("reciprocal", (4.0,), 0.25),
        ("sigmoid", (0.0,), 0.5), ("softplus", (0.0,), 0.6931471805599453), ("erf", (0.3,), 0.3286267594591274),
        ("erfc", (0.3,), 0.6713732405408726), ("erfc", (200.0,), 0.0), ("erfc", (-200.0,), 2.0),
        ("logaddexp", (0.3, 0.3), 0.9931471805599453), ("arctan2", (1.0, -1.0), 2.356194490192345),
        ("arccosh", (1.25,), 0.6931471805599453), ("arcsin", (-0.75,), -0.848062078981481), ("round", (2.5,), 2.0),
        ("round", (3.5,), 4.0), ("trunc", (-0.75,), 0.0), ("floor", (-0.75,), -1.0), ("fmod", (-7.5, 2.0), -1.5),
        ("copysign", (-3.0, 2.0), 3.0), ("minimum", (2.0, 1.0), 1.0), ("maximum", (2.0, 1.0), 2.0),
        ("where", (False, 1.0, 2.0), 2.0), ("square", (-3.0,), 9.0), ("neg", (2.0,), -2.0), ("abs", (-2.0,), 2.0),
        ("lgamma", (0.3,), 1.0957979948180752), ("digamma", (0.3,), -3.502524222200133),
        ("trigamma", (0.3,), 12.245364546107734), ("erfcx", (0.3,), 0.7345993345676554),
        ("erfinv", (0.3,), 0.2724627147267543), ("log_ndtr", (-0.75,), -1.484448229919656),
        ("i0e", (0.3,), 0.7575806251825481), ("i1e", (0.3,), 0.11237756063983881), ("j0", (0.3,), 0.9776262465382961),
        ("j1", (0.3,), 0.148318816273104), ("sinc", (0.3,), 0.8583936913341398),
    ],
)  # fmt: skip
def test_the_functions_of_the_table_are_those_of_others(name, operands, wanted):
    values = [each if isinstance(each, bool) else mpmath.mpf(each) for each in operands]
    assert float(FUNCTIONS[name](mpmath.mp, *values)) == pytest.approx(wanted, rel=4e-15, abs=1e-300)


def test_every_operation_of_numbers_has_a_value():
    operators = {name for name, each in PRIMITIVES.items() if each.python is not None}
    families = {name for name, each in PRIMITIVES.items() if not (each.doc or each.infix) or each.public}
    assert set(PRIMITIVES) - operators - families <= set(FUNCTIONS)

import numpy as np
import pytest

from benchmarks import vmath, vmath_accuracy, vmath_speed

ROWS = {
    "exp": {
        "float32": {"ulp": 0.8125, "at": [-1.5], "tried": 1 << 32},
        "float64": {"ulp": 0.75, "at": [2.5], "tried": 4_200_000},
        "times_float32": {"vmath": 0.25, "NumPy": 0.5},
        "times_float64": {"vmath": 0.75},
    }
}


def test_the_page_holds_what_was_measured_and_a_dash_where_there_is_no_function():
    text = vmath.page(ROWS, 25)
    assert "| `exp` | 0.812 | 1 | -1.5 | 0.750 | 1 | 2.5 |" in text
    assert "| `exp` | 0.25 | 0.50 | – | – |" in text
    assert "all\n2³² operands" in text
    assert "4.2 million operands" in text


def test_the_page_says_where_not_all_operands_were_tried():
    sampled = {**ROWS["exp"], "float32": {**ROWS["exp"]["float32"], "tried": (1 << 32) // 61}}
    rows = {"exp": ROWS["exp"], "sin": sampled}
    assert "least one in 61 of all 2³² operands" in vmath.page(rows, 25)


def test_errors_are_measured_in_units_of_the_right_result():
    one_up = np.nextafter(np.float32(1), np.float32(2))
    wide = np.array([1.0, 1.0, np.nan, np.inf, 2.0**-149, np.nan])
    got = np.array([float(one_up), 1.0, np.nan, 3.4028234663852886e38, 0.0, 1.0])
    errors = np.empty(6)
    vmath_accuracy._errors(got, wide, wide.view(np.int64), np.empty(6, np.int64), errors)
    assert errors.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, np.inf]


def test_a_wrong_function_is_found(monkeypatch):
    right = vmath_accuracy._values

    def wrong(name, dtype, *operands):
        values = right(name, dtype, *operands)
        return np.where(operands[0] == 1.5, np.nextafter(values, 0), values) if dtype == np.float32 else values

    monkeypatch.setattr(vmath_accuracy, "_all_floats", lambda stride: [(np.array([1.0, 1.5, 2.0], np.float32),)])
    assert vmath_accuracy.worst_of_float32("sqrt", 1).ulp <= 0.5
    monkeypatch.setattr(vmath_accuracy, "_values", wrong)
    found = vmath_accuracy.worst_of_float32("sqrt", 1)
    assert found.ulp > 0.5
    assert found.at == (1.5,)
    assert found.tried == 3


@pytest.mark.parametrize("name", ["exp", "pow", "softplus"])
def test_every_subject_that_has_the_function_is_timed(name):
    subjects = set(vmath_speed.times(name, np.float32, 1))
    expected = {"exp": {"vmath", "NumPy", "Numba math"}, "pow": {"vmath", "NumPy", "Numba math"}, "softplus": {"vmath"}}
    assert subjects - {"torch"} == expected[name]

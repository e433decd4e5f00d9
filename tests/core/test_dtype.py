import numpy as np
import pytest

from opsdk.core.dtype import NAMES, as_dtype, as_native, bfloat16, is_differentiable
from opsdk.core.errors import DTypeError


@pytest.mark.parametrize("name", NAMES)
def test_every_supported_name_gives_the_dtype_of_that_name(name):
    assert as_dtype(name).name == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (float, "float64"),
        ("float", "float64"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        ("double", "float64"),
        ("half", "float16"),
    ],
)
def test_python_types_and_common_aliases_mean_what_they_do_in_numpy(value, name):
    assert as_dtype(value) == np.dtype(name)


def test_a_foreign_byte_order_gives_the_native_dtype():
    assert as_dtype(np.dtype(">f4")).isnative
    assert as_dtype(np.dtype("<f4")) == as_dtype(np.dtype(">f4"))


@pytest.mark.parametrize("value", ["float128", "object", np.dtype("O"), np.dtype("datetime64[s]"), None, 3, "x" * 9])
def test_what_is_no_element_type_is_refused_with_the_names_that_are(value):
    with pytest.raises(DTypeError, match=r"^input 'x': expected one of bool, int8, .*, bfloat16, got ") as caught:
        as_dtype(value, "input 'x'")
    assert repr(value) in str(caught.value)


def test_bfloat16_has_two_bytes():
    assert bfloat16().itemsize == 2


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128", "bfloat16"])
def test_floating_and_complex_dtypes_carry_gradients(name):
    assert is_differentiable(as_dtype(name))


@pytest.mark.parametrize("name", ["bool", "int8", "int64", "uint8", "uint64"])
def test_integers_and_booleans_carry_no_gradient(name):
    assert not is_differentiable(as_dtype(name))


def test_an_array_of_this_machines_byte_order_is_itself_and_another_is_copied():
    here = np.array([1.0, 2.0])
    assert as_native(here) is here
    swapped = here.astype(here.dtype.newbyteorder())
    assert as_native(swapped).dtype.isnative
    assert as_native(swapped).tolist() == [1.0, 2.0]

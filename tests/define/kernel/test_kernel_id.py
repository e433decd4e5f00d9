import numpy as np
import pytest

from opsdk.core.origin import Origin
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.kernel.kernel_id import KernelId


def kernel(dtype=None):
    return Kernel(KernelKey("cpu", None if dtype is None else np.dtype(dtype)), "numba", "text", Origin("f.py", 1))


def test_a_kernel_is_named_by_place_dtype_and_language():
    assert str(KernelId.of(kernel(), np.dtype("float64"))) == "cpu,float64,numba"
    assert str(KernelId.of(kernel(), None, "t::f")) == "cpu,*,numba"


def test_the_text_leads_back_to_what_it_is_of():
    identity = KernelId("cuda", "float32", "c", "t::f")
    assert KernelId.parse("cuda,float32,c", "t::f") == identity
    assert KernelId.parse(str(identity)) == KernelId("cuda", "float32", "c")


@pytest.mark.parametrize("text", ["*", "", "numba"])
def test_a_text_that_names_no_kernel_is_about_any(text):
    assert KernelId.parse(text) == KernelId("*", "*", "*")


def test_one_kernel_is_the_same_at_every_dtype_and_two_ops_have_two():
    short, long = (KernelId.parse(f"cpu,{dtype},numba", "t::f") for dtype in ("float32", "float64"))
    assert short != long
    assert short.at_any_dtype == long.at_any_dtype == KernelId("cpu", "*", "numba", "t::f")
    assert short.at_any_dtype != KernelId.parse("cpu,float32,numba", "t::g").at_any_dtype


def test_words_are_all_parts_of_what_they_name():
    identity = KernelId.parse("cpu,float32,numba")
    assert identity.has("numba") and identity.has("float32,numba")
    assert not identity.has("float64,numba") and not identity.has("c")


@pytest.mark.parametrize(
    ("dtype", "words", "is_selected"),
    [
        (None, "numba", True),
        (None, "cpu,float16,numba", True),
        (None, "cpu,*,numba", True),
        (None, "c", False),
        ("int64", "cpu,int64,numba", True),
        ("int64", "cpu,float64,numba", True),
        ("int64", "cpu,int32,numba", False),
    ],
)
def test_a_kernel_is_selected_by_the_dtypes_at_which_it_is_tried(dtype, words, is_selected):
    one = kernel(dtype)
    assert KernelId.of(one, one.key.dtype).is_selected(words) is is_selected

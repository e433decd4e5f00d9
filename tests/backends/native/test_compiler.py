"""The native compiler: object code with C symbols, of Python functions of pointers and numbers."""

import numpy as np
import pytest
from numba import float64, int32, int64, njit, types

from opsdk.backends.native.compiler import Export, compile_object, wide
from opsdk.backends.native.loader import load
from opsdk.backends.native.runtime import PROTOTYPE, ffi

DOUBLES = types.CPointer(float64)


def scale(start, stop, sizes, source, target, factor):
    for i in range(start, stop):
        target[i] = source[i] * factor + sizes[0]
    return np.int32(0)


def refuse(start, stop, sizes, source):
    return np.int32(7)


def twice(value):
    return value + value


def entry(symbol, function, *kinds):
    return Export(symbol, function, int32(int64, int64, types.CPointer(int64), *kinds), is_range=True)


def call_entry(image, symbol, arrays, sizes, attrs, start, stop):
    tools = ffi()
    pointers = tools.new("void *[]", [tools.from_buffer(array) for array in arrays])
    numbers = tools.new("double[]", attrs)
    return tools.cast(PROTOTYPE, image.addresses[symbol])(pointers, tools.new("int64_t[]", sizes), numbers, start, stop)


def test_an_entry_takes_its_pointers_sizes_and_numbers_from_arrays():
    data = compile_object("scaling", [entry("scaling", scale, DOUBLES, DOUBLES, float64)])
    image = load(data, ["scaling"])
    source, target = np.arange(5.0), np.zeros(5)
    assert call_entry(image, "scaling", [source, target], [100], [3.0], 1, 4) == 0
    assert target.tolist() == [0.0, 103.0, 106.0, 109.0, 0.0]


def test_an_entry_returns_its_status():
    data = compile_object("refusing", [entry("refusing", refuse, DOUBLES)])
    assert call_entry(load(data, ["refusing"]), "refusing", [np.zeros(1)], [0], [], 0, 1) == 7


def test_one_object_holds_several_symbols_of_either_form():
    exports = [entry("first", refuse, DOUBLES), Export("second", twice, int64(int64))]
    data = compile_object("several", exports)
    image = load(data, ["first", "second"])
    assert call_entry(image, "first", [np.zeros(1)], [0], [], 0, 1) == 7
    assert ffi().cast("int64_t(*)(int64_t)", image.addresses["second"])(21) == 42


def test_two_objects_may_hold_functions_of_one_name():
    def of(factor):
        def kernel(value):
            return value * factor

        return kernel

    images = []
    for factor in (2, 3):
        data = compile_object("same", [Export("same", of(factor), int64(int64))])
        images.append(load(data, ["same"]))
    calls = [ffi().cast("int64_t(*)(int64_t)", image.addresses["same"]) for image in images]
    assert [call(10) for call in calls] == [20, 30]


def test_the_code_calls_nothing_of_python():
    data = compile_object("alone", [entry("alone", scale, DOUBLES, DOUBLES, float64)])
    assert b"alone" in data  # the names of all symbols stand in an object file
    for word in (b"NRT_", b"PyErr", b"PyGILState", b"numba_unpickle"):
        assert word not in data


def test_products_and_sums_may_be_one_instruction_and_no_order_changes():
    def total(start, stop, sizes, source, target):
        value = 0.0
        for i in range(start, stop):
            value += source[i]
        target[0] = value
        return np.int32(0)

    data = compile_object("total", [entry("total", total, DOUBLES, DOUBLES)])
    source, target = np.array([1e16, 1.0, -1e16, 1.0] * 64), np.zeros(1)
    call_entry(load(data, ["total"]), "total", [source, target], [0], [], 0, source.size)
    in_order = 0.0
    for value in source.tolist():
        in_order += value
    assert target[0] == in_order


@pytest.mark.parametrize("denominator", [0.0])
def test_a_division_by_zero_is_a_value(denominator):
    @njit(error_model="numpy")
    def divided(a, b):
        return a / b

    def divide(start, stop, sizes, target, by):
        target[0] = divided(1.0, by)
        return np.int32(0)

    data = compile_object("divide", [entry("divide", divide, DOUBLES, float64)])
    target = np.zeros(1)
    call_entry(load(data, ["divide"]), "divide", [target], [0], [denominator], 0, 1)
    assert target[0] == np.inf


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("+avx512f,+avx512vbmi2,+sse2", "+avx512f,+avx512vbmi2,+sse2,-prefer-256-bit"),
        ("+avx512f,-avx512vbmi2,+sse2", "+avx512f,-avx512vbmi2,+sse2"),  # Skylake, whose clock falls
        ("+avx2,+sse2", "+avx2,+sse2"),
        ("", ""),
    ],
)
def test_vectors_are_512_bits_wide_from_ice_lake_on(features, expected):
    assert wide(features) == expected

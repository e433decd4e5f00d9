"""The whole numbers in sources of kernels: in C without comments and texts, in Python with what is called by name."""

import numpy as np

import opsdk
from opsdk.verify.inputs.thresholds import numbers_of

BLOCK = 300


def halved(n):
    return n // 2 if n > 700 else n


def test_the_numbers_of_a_python_kernel_are_those_that_it_and_what_it_calls_name(define):
    inner = 1234

    def kernel(x, y):
        y[...] = x[:BLOCK].sum() + halved(x.size) + inner + np.float64(0.5)

    op = define(lambda x: x)
    op.kernel("cpu", kernel, language="numba")
    numbers = numbers_of(op.opdef, list(op.opdef.kernels)[1:])
    assert {300, 700, 2, 1234} <= numbers
    assert 0.5 not in numbers


def test_the_numbers_of_a_c_source_are_those_of_its_code_and_of_its_headers(define, tmp_path):
    (tmp_path / "tile.h").write_text("enum { TILE = 0x40 };\n")
    (tmp_path / "f.c").write_text(
        '#include "tile.h"\n'
        "/* 99 of them */ // and 98\n"
        "int32_t f_f64(const DLTensor *x, DLTensor *y) { return opsdk_size(x) > 129 ? 1.5 : 7L; }\n"
        'const char *text(void) { return "97"; }\n'
    )
    op = define(lambda x: x)
    op.kernel("cpu", language="c", dtype="float64", source=str(tmp_path / "f.c"))
    numbers = numbers_of(op.opdef, list(op.opdef.kernels)[1:])
    assert {64, 129} <= numbers
    assert not numbers & {97, 98, 99, 64 * 2}


def test_the_numbers_of_an_expression_are_the_sizes_of_its_blocks():
    row = opsdk.rowwise("planted::g(Tensor x) -> Tensor y")(lambda x: x - opsdk.vmath.row_mean(x))
    assert numbers_of(row.opdef, list(row.opdef.kernels)) == {1024}

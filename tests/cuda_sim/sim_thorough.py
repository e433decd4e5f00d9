"""Every CUDA kernel of contrib_ops and of the examples is proven thoroughly: no line of it is left without a reason."""

import pytest

import opsdk
from opsdk.backends.cuda.runtime import is_simulated
from opsdk.verify.run import chain
from tests.contrib_ops.proof import PLAIN
from tests.examples.references import EXAMPLES


def kernels_of(op):
    """The names of an op and of its gradient ops that have CUDA kernels of their author's."""
    return [
        opdef.name
        for opdef in chain(op.opdef)
        if any(
            kernel.language == "numba" and kernel.key.place == "cuda" and not kernel.form for kernel in opdef.kernels
        )
    ]


def assert_proven(op):
    assert is_simulated()
    report = opsdk.verify(op, rows="cuda,*,numba", level="thorough")
    assert report.findings == (), str(report)
    assert {row.row for row in report.rows if row.row.startswith("cuda") and row.verdict == "pass"}
    assert [text for text in report.coverage.warnings if "no call reached" in text] == []
    told = {text.partition(",")[0] for text in report.coverage.notes if ", numba cuda kernel: " in text}
    assert told == set(kernels_of(op))


@pytest.mark.parametrize("op", [op for op in PLAIN if kernels_of(op)], ids=lambda op: op.__name__)
def test_no_line_of_a_kernel_of_contrib_ops_is_left(op):
    assert_proven(op)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_no_line_of_a_kernel_of_an_example_is_left(example):
    assert_proven(getattr(example.load(), example.name))

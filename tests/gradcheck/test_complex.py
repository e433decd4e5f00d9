"""Complex inputs and outputs: 2n real numbers, two conventions, and messages that name the part."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.model.dtypes import (
    as_float64,
    fit_gradient,
    from_float64,
    is_continuous,
    match_kind,
    name_number,
    number_count,
    widened,
)
from gradcheck.model.evaluation import to_conjugate

_DRAW = np.random.default_rng(5)


def draw(*shape: int) -> Any:
    return _DRAW.normal(size=shape) + 1j * _DRAW.normal(size=shape)


Z, W, RIGHT_FACTOR = draw(2, 2), draw(2, 2), draw(2, 3)
X = _DRAW.normal(size=(2, 2))
conj = np.conj


def of_one(derivative: Any) -> Any:
    """Gives a vjp from derivative(z, y, g)."""
    return lambda i, o, c: (derivative(i[0], o[0], c[0]),)


def unit(z: Any) -> Any:
    return np.divide(z, np.abs(z), out=np.zeros_like(z), where=z != 0)


# (name, forward, vjp, inputs); gradients are dL/dx + i dL/dy.
RIGHT: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
    ("exp", np.exp, of_one(lambda z, y, g: g * conj(y)), (Z,)),
    ("square", np.square, of_one(lambda z, y, g: 2 * conj(z) * g), (Z,)),
    ("conj", conj, of_one(lambda z, y, g: conj(g)), (Z,)),
    ("abs", np.abs, of_one(lambda z, y, g: g * z / y), (Z,)),
    ("abs at 0", np.abs, of_one(lambda z, y, g: g * unit(z)), (np.array([0, 1 + 2j, -3j]),)),
    ("real part", lambda z: z.real.copy(), of_one(lambda z, y, g: g.astype(z.dtype)), (Z,)),
    ("imaginary part", lambda z: z.imag.copy(), of_one(lambda z, y, g: 1j * g), (Z,)),
    ("angle", np.angle, of_one(lambda z, y, g: g * 1j * z / np.abs(z) ** 2), (Z,)),
    ("squared magnitude", lambda z: np.abs(z) ** 2, of_one(lambda z, y, g: 2 * g * z), (Z,)),
    ("product", np.multiply, lambda i, o, c: (c[0] * conj(i[1]), c[0] * conj(i[0])), (Z, W)),
    (
        "quotient",
        np.divide,
        lambda i, o, c: (c[0] / conj(i[1]), -c[0] * conj(i[0] / i[1] ** 2)),
        (Z, W),
    ),
    ("real to complex", lambda x: x + 1j * x**2, of_one(lambda x, y, g: g.real + 2 * x * g.imag), (X,)),
    ("real scalar to complex", lambda x: np.exp(1j * x), of_one(lambda x, y, g: (g * conj(1j * y)).real), (0.3,)),
    ("matmul", np.matmul, lambda i, o, c: (c[0] @ conj(i[1]).T, conj(i[0]).T @ c[0]), (Z, RIGHT_FACTOR)),
    ("fft", np.fft.fft, of_one(lambda z, y, g: z.shape[-1] * np.fft.ifft(g)), (Z,)),
    ("fft of real", np.fft.fft, of_one(lambda x, y, g: x.shape[-1] * np.fft.ifft(g).real), (X,)),
    (
        "real times complex",
        lambda z, x: z * x,
        lambda i, o, c: (c[0] * i[1], (c[0] * conj(i[0])).real),
        (Z, X),
    ),
    (
        "broadcast",
        np.add,
        lambda i, o, c: (c[0].copy(), c[0].sum(axis=0)),
        (Z, draw(2)),
    ),
    (
        "one complex and one real output",
        lambda z: (z * z, np.abs(z) ** 2),
        lambda i, o, c: (2 * conj(i[0]) * c[0] + 2 * c[1] * i[0],),
        (Z,),
    ),
    ("0-d", np.exp, of_one(lambda z, y, g: np.asarray(g * conj(y))), (np.array(0.2 - 1j),)),
    ("a Python number", np.exp, of_one(lambda z, y, g: np.asarray(g * conj(y))), (0.2 - 1j,)),
    ("empty", np.exp, of_one(lambda z, y, g: g * conj(y)), (np.zeros((0, 3), complex),)),
    ("complex64", np.square, of_one(lambda z, y, g: (2 * conj(z) * g).astype(z.dtype)), (Z.astype(np.complex64),)),
    ("many elements", np.square, of_one(lambda z, y, g: 2 * conj(z) * g), (draw(20, 20),)),
    ("large real input", lambda x: x + 1j * x, of_one(lambda x, y, g: g.real + g.imag), (np.arange(400.0),)),
]


@pytest.mark.parametrize(("forward", "vjp", "inputs"), [pytest.param(*case[1:], id=case[0]) for case in RIGHT])
def test_a_right_gradient_passes(forward: Any, vjp: Any, inputs: Any) -> None:
    names = ["z", "w"][: len(inputs)]
    report = gradcheck.check(forward, vjp, inputs, names=names, vary="values")
    assert report.verdict == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize(("forward", "vjp", "inputs"), [pytest.param(*case[1:], id=case[0]) for case in RIGHT])
def test_a_right_gradient_conjugated_passes_as_plain(forward: Any, vjp: Any, inputs: Any) -> None:
    def plain(i: Any, o: Any, c: Any) -> Any:
        return tuple(np.array(conj(g)) for g in vjp(i, o, tuple(map(conj, c))))

    names = ["z", "w"][: len(inputs)]
    report = gradcheck.check(forward, plain, inputs, names=names, convention="plain", vary=False)
    assert report.verdict == "pass", gradcheck.render_text(report)


WRONG: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
    ("exp without conj", np.exp, of_one(lambda z, y, g: g * y), (Z,)),
    ("conj as identity", conj, of_one(lambda z, y, g: g.copy()), (Z,)),
    ("abs with conj", np.abs, of_one(lambda z, y, g: g * conj(z) / y), (Z,)),
    ("squared magnitude without 2", lambda z: np.abs(z) ** 2, of_one(lambda z, y, g: g * z), (Z,)),
    ("square as JAX has it", np.square, of_one(lambda z, y, g: 2 * z * g), (Z,)),
    ("dropped imaginary part", np.exp, of_one(lambda z, y, g: (g * conj(y)).real.astype(z.dtype)), (Z,)),
    ("imaginary part with the other sign", lambda z: z.imag.copy(), of_one(lambda z, y, g: -1j * g), (Z,)),
    ("holomorphic rule for a real input", lambda x: x * 1j, of_one(lambda x, y, g: g.imag * -1), (X,)),
    ("0-d without conj", np.exp, of_one(lambda z, y, g: np.asarray(g * y)), (0.2 - 1j,)),
    (
        "one of 400",
        np.square,
        of_one(lambda z, y, g: 2 * conj(z) * g * (1 + 0.1 * (np.arange(z.size) == 99))),
        (draw(400),),
    ),
    ("complex64", np.square, of_one(lambda z, y, g: (2 * z * g).astype(z.dtype)), (Z.astype(np.complex64),)),
]


@pytest.mark.parametrize(("forward", "vjp", "inputs"), [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_a_wrong_gradient_fails(forward: Any, vjp: Any, inputs: Any) -> None:
    report = gradcheck.check(forward, vjp, inputs, names=["z"], vary=False)
    assert report.verdict == "fail"
    assert [finding.check for finding in report.findings] == ["vjp value"]


def test_the_two_conventions_differ_by_a_conj() -> None:
    jax = of_one(lambda z, y, g: 2 * z * g)
    torch = of_one(lambda z, y, g: 2 * conj(z) * g)
    verdicts = [
        gradcheck.check(np.square, vjp, (Z,), names=["z"], convention=convention, vary=False).verdict
        for vjp in (torch, jax)
        for convention in ("conjugate", "plain")
    ]
    assert verdicts == ["pass", "fail", "fail", "pass"]


def test_a_message_names_the_element_and_its_part() -> None:
    def slipped(z: Any, y: Any, g: Any) -> Any:
        gradient = 2 * conj(z) * g
        gradient[1, 2] += 1j
        return gradient

    z = np.array([[1, 1j, 2], [1 + 1j, 3, 0.5 - 2j]])
    (finding,) = gradcheck.check(np.square, of_one(slipped), (z,), names=["z"], vary=False).findings[:1]
    # For cotangent 1 + i: 2 (0.5 + 2i) (1 + i) = -3 + 5i.
    assert finding.message.startswith(
        "gradient of 'z': wrong in 1 of 12 real and imaginary parts, worst z[1, 2] = 0.5-2j, imaginary part: "
        "yours 6, derivative 5 ± "
    )
    assert finding.index == (1, 2)
    assert finding.analytic == pytest.approx(6)
    assert finding.numeric == pytest.approx(5)


def test_numbers_are_told_in_the_convention_of_the_caller() -> None:
    vjp = of_one(lambda z, y, g: 2 * z * g + 1j)
    (finding,) = gradcheck.check(np.square, vjp, (2 - 1j,), names=["z"], vary=False, convention="plain").findings[:1]
    # The first cotangent is 1 + i for the judge, 1 - i as plain: 2 (2 - i) (1 - i) = 2 - 6i, and i more.
    assert "worst z = 2-1j, imaginary part: yours -5, derivative -6 ± " in finding.message
    assert finding.picture is not None
    assert finding.picture.gradient.shape == (2,)
    assert finding.picture.gradient.analytic[1] == pytest.approx(-5)


def test_a_complex_gradient_of_a_real_input_is_a_finding() -> None:
    vjp = of_one(lambda x, y, g: g * conj(1j * y))
    report = gradcheck.check(lambda x: np.exp(1j * x), vjp, (np.array([0.1, 0.7]),), names=["x"])
    assert [finding.message for finding in report.findings] == [
        "gradient of 'x': expected dtype float64 like x, got complex128; take its real part"
    ]


def test_a_real_gradient_of_a_complex_input_is_a_finding() -> None:
    report = gradcheck.check(lambda z: z.real.copy(), of_one(lambda z, y, g: g.copy()), (Z,), names=["z"])
    assert [finding.message for finding in report.findings] == [
        "gradient of 'z': expected dtype complex128 like z, got float64; cast it with .astype(z.dtype)"
    ]


@pytest.mark.parametrize(
    ("forward", "derivative", "convention", "cause"),
    [
        (
            np.square,
            lambda z, y, g: 2 * z * g,
            "conjugate",
            "yours is right with convention='plain': a conj is missing, unless that is the convention meant",
        ),
        (
            np.square,
            lambda z, y, g: 2 * conj(z) * g,
            "plain",
            "yours is right with convention='conjugate': a conj is needless, unless that is the convention meant",
        ),
        (
            np.square,
            lambda z, y, g: 2 * z * conj(g),
            "conjugate",
            "yours is the conjugate of the derivative: the imaginary parts have the opposite sign",
        ),
        (
            conj,
            lambda z, y, g: g.copy(),
            "plain",
            "yours is the conjugate of the derivative: the imaginary parts have the opposite sign",
        ),
        (
            np.square,
            lambda z, y, g: (2 * conj(z) * g).real.astype(complex),
            "conjugate",
            "the imaginary part of yours is zero everywhere: it was dropped",
        ),
        (
            lambda z: np.abs(z) ** 2,
            lambda z, y, g: g * z,
            "conjugate",
            "yours is 0.5 times the derivative everywhere: a constant factor",
        ),
        (
            np.mean,
            lambda z, y, g: np.full_like(z, g),
            "conjugate",
            "yours is 4 times too large everywhere: a sum where a mean is meant does this",
        ),
        (
            lambda z: z.imag.copy(),
            lambda z, y, g: -3j * g,
            "conjugate",
            "yours is -3 times the derivative everywhere: a constant factor",
        ),
    ],
)
def test_a_pattern_of_complex_faults_is_named(forward: Any, derivative: Any, convention: str, cause: str) -> None:
    report = gradcheck.check(forward, of_one(derivative), (Z,), names=["z"], vary=False, convention=convention)
    assert report.findings[0].cause == cause


def test_a_transposed_complex_gradient_is_named_and_a_vector_is_no_matrix() -> None:
    square = draw(3, 3)
    vjp = of_one(lambda z, y, g: (2 * conj(z) * g).T.copy())
    (finding,) = gradcheck.check(np.square, vjp, (square,), names=["z"], vary=False).findings[:1]
    assert finding.cause == "yours is the transpose of the derivative"
    swapped = of_one(lambda z, y, g: 1j * conj(2 * conj(z) * g))  # real and imaginary part change places
    (finding,) = gradcheck.check(np.square, swapped, (draw(2),), names=["z"], vary=False).findings[:1]
    assert finding.cause is None


@pytest.mark.parametrize("convention", ["conjugate", "plain"])
@pytest.mark.parametrize(("forward", "slope"), [(np.log, lambda z: 1 / z), (np.sqrt, lambda z: 0.5 / np.sqrt(z))])
def test_a_branch_cut_is_skipped_as_a_jump(forward: Any, slope: Any, convention: str) -> None:
    turn = conj if convention == "conjugate" else np.array
    vjp = of_one(lambda z, y, g: g * turn(slope(z)))
    z = np.array([-1 + 0j, 1 + 1j, complex(-2.0, -0.0)])
    report = gradcheck.check(forward, vjp, (z,), names=["z"], convention=convention)
    assert not report.findings
    assert "the function jumps there" in dict(report.coverage.skipped)
    alone = gradcheck.check(forward, vjp, (z[:2],), names=["z"], convention=convention, vary=False)
    assert dict(alone.coverage.skipped) == {"the function jumps there": 1}
    assert alone.coverage.tested == 3


def test_a_kink_is_told_with_its_part() -> None:
    report = gradcheck.check(np.abs, of_one(lambda z, y, g: g * unit(z)), (np.array([0j, 1]),), names=["z"])
    assert report.coverage.kinks[0] == "z[0] = 0+0j, real part: yours 0, any value in [-1, 1] is right, and 1 more"


def test_a_kink_of_an_imaginary_part_is_told_in_the_convention_of_the_caller() -> None:
    def forward(z: Any) -> Any:
        return np.maximum(z.imag, 0)

    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (-1j * c[0] * (i[0].imag >= 0),)

    report = gradcheck.check(forward, vjp, (np.array([1 + 0j]),), names=["z"], convention="plain", vary=False)
    assert report.coverage.kinks == ("z[0] = 1+0j, imaginary part: yours -1, any value in [-1, 0] is right",)


def test_all_of_a_long_real_input_of_complex_outputs_is_judged_at_once() -> None:
    vjp = of_one(lambda x, y, g: (g * conj(1j * y)).real)
    x = np.linspace(0, 3, 300)
    report = gradcheck.check(lambda x: np.exp(1j * x), vjp, (x,), names=["x"], vary=False)
    assert report.verdict == "pass"
    assert report.coverage.tested == 300


def test_a_domain_bounds_both_parts() -> None:
    seen: list[Any] = []

    def forward(z: Any) -> Any:
        seen.append(z.copy())
        return z * z

    vjp = of_one(lambda z, y, g: 2 * conj(z) * g)
    report = gradcheck.check(forward, vjp, (np.array([1 + 0j, 0.5 + 1j]),), names=["z"], domain=(0, 1))
    assert report.verdict == "pass"
    drawn = np.concatenate([as_float64(z).ravel() for z in seen if z.shape == (2,)])
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    text = "input 'z': expected values in [0, 1], got -2 at [0], imaginary part; move it inside or widen domain"
    with pytest.raises(gradcheck.UsageError, match=re.escape(text)):
        gradcheck.check(forward, vjp, (np.array([1 - 2j]),), names=["z"], domain=(0, 1))


def test_an_unknown_convention_is_refused() -> None:
    text = "convention: expected conjugate or plain, got 'jax'; choose one"
    with pytest.raises(gradcheck.UsageError, match=re.escape(text)):
        gradcheck.check(np.square, of_one(lambda z, y, g: 2 * conj(z) * g), (Z,), names=["z"], convention="jax")


def test_an_input_declared_non_differentiable_is_judged_by_both_parts() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return c[0] * conj(i[1]), None

    report = gradcheck.check(np.multiply, vjp, (Z, W), names=["z", "w"], nondifferentiable=["w"], vary=False)
    assert "gradient of 'w': expected derivative 0, as w is declared non-differentiable" in report.findings[0].message
    assert re.search(r"at w\[\d, \d\], (real|imaginary) part; remove the declaration", report.findings[0].message)


@pytest.mark.parametrize("convention", ["conjugate", "plain"])
def test_a_complex_jvp_is_judged_and_compared_with_vjp(convention: str) -> None:
    turn = conj if convention == "conjugate" else np.array

    def check(push: Any) -> gradcheck.Report:
        vjp = of_one(lambda z, y, g: g * turn(y))
        return gradcheck.check(np.exp, vjp, (Z,), names=["z"], jvp=push, vary=False, convention=convention)

    assert check(lambda i, t: t[0] * np.exp(i[0])).verdict == "pass"
    wrong = check(lambda i, t: t[0] * conj(np.exp(i[0])))
    assert "jvp value" in {finding.check for finding in wrong.findings}
    real = check(lambda i, t: (t[0] * np.exp(i[0])).real.copy())
    text = "jvp: expected a tangent per output, got ValueError: a tangent of dtype float64 for an output of dtype compl"
    assert any(finding.message.startswith(text) for finding in real.findings)


def test_a_complex64_kernel_that_is_wrong_alone_is_found() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        gradient = (2 * conj(i[0]) * c[0]).astype(i[0].dtype)
        if i[0].dtype == np.complex64:
            gradient[0, 1] += np.complex64(1j)
        return (gradient,)

    report = gradcheck.check(np.square, vjp, (Z.astype(np.complex64),), names=["z"])
    (message,) = [finding.message for finding in report.findings if finding.check == "short dtype"]
    assert message.startswith("gradient of 'z': expected complex64 to agree with complex128 up to rounding, got ")
    assert "at [0, 1], imaginary part; compare the two kernels" in message


def test_a_gradient_that_is_not_linear_in_a_complex_cotangent_is_found() -> None:
    vjp = of_one(lambda z, y, g: 2 * conj(z) * g + 1j * (g == 0))
    report = gradcheck.check(np.square, vjp, (Z,), names=["z"], vary=False)
    (message,) = [finding.message for finding in report.findings if finding.check == "linear in the cotangent"]
    assert re.match("gradient of 'z': expected -?0 for a zero cotangent, got 1 at \\[0, 0\\], imaginary part;", message)


def test_a_real_gradient_that_is_not_linear_is_found_beside_its_dtype() -> None:
    report = gradcheck.check(lambda z: z.real.copy(), of_one(lambda z, y, g: np.abs(g)), (Z,), names=["z"], vary=False)
    findings = {finding.check: finding.message for finding in report.findings}
    assert {"gradient dtype", "linear in the cotangent", "vjp value"} <= findings.keys()
    assert ", real part; a vjp is linear in the cotangent" in findings["linear in the cotangent"]


def test_mutated_and_shared_complex_arrays_are_found_in_the_plain_convention_too() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        c[0][...] *= 2
        return (c[0],)

    report = gradcheck.check(lambda z: 2 * z, vjp, (Z,), names=["z"], convention="plain")
    assert {"mutation", "sharing"} <= {finding.check for finding in report.findings}


def test_varied_points_with_parts_that_are_not_finite_are_written_as_code() -> None:
    from gradcheck.explain.wording import repro_call

    value = np.array([complex(1, np.nan), complex(np.inf, -2)])
    text = repro_call((value,), "random values", 0)
    call = re.fullmatch(r"gradcheck\.check\(forward, vjp, (.*), vary=False, seed=0\)", text)
    assert call is not None
    (read,) = eval(call[1], {"np": np})
    np.testing.assert_array_equal(as_float64(read), as_float64(value))


def test_a_complex_array_is_two_numbers_per_element() -> None:
    z = np.array([[1 + 2j], [3 - 4j]], dtype=np.complex64)
    numbers = as_float64(z)
    assert numbers.tolist() == [[[1, 2]], [[3, -4]]]
    assert number_count(z) == 4
    assert number_count(np.ones(3)) == 3
    back = from_float64(numbers.ravel(), z)
    assert back.dtype == z.dtype
    assert back.tolist() == z.tolist()
    assert as_float64(np.array(1j)).tolist() == [0, 1]
    assert widened(z).dtype == np.complex128
    assert widened(np.float32(1)).dtype == np.float64  # type: ignore[arg-type]
    assert is_continuous(np.dtype(np.complex64))
    assert not is_continuous(np.dtype(np.int8))
    assert name_number((1, 0, 1), z.dtype) == ((1, 0), ", imaginary part")
    assert name_number((1, 0), np.dtype(float)) == ((1, 0), "")


def test_a_gradient_is_brought_to_the_kind_and_shape_of_its_input() -> None:
    assert match_kind(np.array([1 + 2j]), np.ones(1)).tolist() == [1]  # type: ignore[union-attr]
    assert match_kind(np.array([3]), np.array([1j])).tolist() == [3 + 0j]  # type: ignore[union-attr]
    assert match_kind(None, Z) is None
    assert fit_gradient(np.array([1 + 2j, 3 - 1j]), (1, 2)).tolist() == [[4, 1]]  # type: ignore[union-attr]


def test_plain_is_the_conjugate_and_real_numbers_stay() -> None:
    assert to_conjugate(np.array(1 + 2j), "plain").tolist() == 1 - 2j
    assert to_conjugate(np.array(1 + 2j), "conjugate").tolist() == 1 + 2j
    assert to_conjugate(X, "plain") is X

"""Compiled primitives of users, held to the accuracy that they promise."""

import re
from dataclasses import replace

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import DefinitionError
from opsdk.expr.primitives.own import primitive_of
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.kernels.primitives import check_primitives, op_of_primitive
from opsdk.verify.session import Session


def found(f):
    op = opsdk.elementwise("t::through(Tensor x) -> Tensor")(lambda x: f(x))
    session = Session(op.opdef, calls_of(op.opdef, None, 0)[:1], 0, 300)
    check_primitives(session)
    return [finding.message for finding in session.findings.values()]


def logistic(text, **options):
    @opsdk.primitive(c=text, derivative=lambda x, y: y * (1 - y), namespace="t", **options)
    def logistic(x):
        return 1 / (1 + np.exp(-x))

    return logistic


def test_a_body_in_c_that_keeps_its_promise_passes():
    assert found(logistic("real e = exp(-fabs(x)); return x >= 0 ? 1 / (1 + e) : e / (1 + e);")) == []


def test_a_body_in_c_that_is_another_function_far_from_0_is_found():  # elsewhere it is refused when it is compiled
    (message,) = found(logistic("real e = exp(-fabs(x)); return (x >= 0 || x < -40 ? 1 : e) / (1 + e);"))
    assert message.startswith(
        "op 't::through': primitive 'logistic' expected within 4 ulp of float32, as promised, got "
    )
    assert message.endswith("mend its body, promise less with ulp=, or name its domain=")


def test_a_body_that_is_further_off_than_promised_is_found(monkeypatch):
    @opsdk.primitive(namespace="t", ulp=2.0)
    def double(x):
        return x + x

    assert found(double) == []
    (name,) = (name for name, each in PRIMITIVES.items() if each.public is double)
    planted = replace(PRIMITIVES[name], meaning=lambda xp, x: 2.001 * x, right=lambda x: 2.001 * x)
    monkeypatch.setitem(PRIMITIVES, name, planted)
    (message,) = found(double)
    assert "primitive 'double' expected within 2 ulp of float32" in message


# -- a primitive alone, everywhere in its domain -----------------------------------------------------------------------


def judged(f, rows=("numba",)):
    """What is found of a primitive as the op that it is alone: messages, and the note of how accurate it is."""
    opdef = op_of_primitive(primitive_of(f)).opdef
    session = Session(opdef, calls_of(opdef, None, 0)[:1], 0, 300, rows)
    check_primitives(session)
    (note,) = session.notes
    return [finding.message for finding in session.findings.values()], note


def define(body, **options):
    return opsdk.primitive(namespace="t", **{"name": "f", **options})(body)


def where_wrong(messages):
    """The dtype and the operand of the first finding."""
    found = re.search(r"ulp of (float\d+), as promised, got \S+ at x=(\S+): (\S+) for (\S+);", messages[0])
    return found.groups()


def test_what_its_kernels_in_numba_and_in_c_give_is_told_beside_the_promise():
    messages, note = judged(define(lambda x: x / (1 + abs(x)), ulp=2), rows=())
    assert messages == []
    shown = r"t::f, f: numba (1\.\d) of 2 ulp of float32 promised, numba 1(\.\d)? of 2 ulp of float64 promised, c 1\."
    assert re.match(shown, note)


def test_a_body_that_overflows_far_out_is_found_and_a_domain_that_ends_before_is_kept():
    def overflowing(x):
        return vmath.exp(x) / (1 + vmath.exp(x))

    dtype, x, got, right = where_wrong(judged(define(overflowing, ulp=3))[0])  # right by mpmath, of the same body
    assert (dtype, got, right) == ("float32", "nan", "1.0")
    assert float(x) > 88  # where e to that is infinite in float32
    assert judged(define(overflowing, name="g", ulp=3, domain={"x": (-80.0, 80.0)}))[0] == []


def test_an_error_of_a_millionth_shows_in_float64_whatever_float32_hides():
    f = define(
        lambda x: 1 / (1 + np.exp(-x)),
        c="real e = exp(-fabs(x)), s = x >= 0 ? 1 / (1 + e) : e / (1 + e); return s * (1 + 1e-7 * (x > 2));",
        derivative=lambda x, y: y * (1 - y),
    )
    dtype, x, *_ = where_wrong(judged(f)[0])
    assert dtype == "float64"
    assert float(x) > 2


def test_a_body_in_numpys_words_that_is_off_by_a_millionth_is_refused_where_it_is_defined():
    with pytest.raises(DefinitionError, match="'t::f': body expected within 4 ulp of float32, as promised, got 1"):
        define(lambda x: x / (1.000001 + abs(x)), numpy=lambda x: x / (1 + np.abs(x)))


def test_a_derivative_of_the_wrong_sign_is_refused_where_it_is_defined():
    with pytest.raises(DefinitionError, match="derivative: expected the derivative of the body: with respect to 'x'"):
        define(lambda x: x / (1 + abs(x)), derivative=lambda x, y: -((1 - abs(y)) ** 2))


def test_a_body_without_a_value_at_zero_is_found_there():
    f = define(lambda x: x * x / x, numpy=lambda x: 1 * x, domain={"x": (-6.0, 6.0)}, least=1.0)
    assert where_wrong(judged(f)[0]) == ("float32", "0.0", "nan", "0.0")


def test_the_sign_of_a_zero_is_part_of_the_value_unless_small_results_count_for_less():
    def positive(x):
        return vmath.where(x == 0, 0.0, x)

    assert where_wrong(judged(define(positive, numpy=lambda x: 1 * x))[0]) == ("float32", "-0.0", "0.0", "-0.0")
    assert judged(define(positive, name="g", numpy=lambda x: 1 * x, least=1.0))[0] == []


def test_the_smallest_numbers_are_tried():
    f = define(lambda x: vmath.where((abs(x) < 1e-40) & (x != 0), 0.0, x), numpy=lambda x: 1 * x)
    dtype, x, got, _ = where_wrong(judged(f)[0])
    assert (dtype, got) == ("float32", "0.0")
    assert 0 < abs(float(x)) < 1e-40


def test_a_promise_of_float64_that_only_many_digits_refute_is_refuted():
    f = define(lambda x: x / (1 + abs(x)), ulp=(2.0, 0.6))  # the body in float64 agrees with itself
    dtype, *_ = where_wrong(judged(f)[0])
    assert dtype == "float64"


def test_two_operands_are_tried_at_every_pair_of_special_numbers():
    f = define(
        lambda a, b: a - vmath.where((a == b) & (a == vmath.inf), 0.0, b),
        numpy=lambda a, b: a - b,
        least=lambda a, b: abs(a),
    )
    (message,) = judged(f)[0]
    assert "at a=inf, b=inf: " in message


def test_the_op_of_a_primitive_leaves_an_op_of_its_name_alone():
    op = opsdk.elementwise("t::f(Tensor x) -> Tensor")(lambda x: 2 * x)
    alone = op_of_primitive(primitive_of(define(lambda x: 3 * x)))
    assert opsdk.find_op("t::f") is op
    assert op(np.ones(1)).tolist() == [2.0]
    assert alone(np.ones(1)).tolist() == [3.0]
    assert alone.opdef.name == "t::f"


def test_a_primitive_with_a_body_in_c_has_no_kernel_for_cuda():
    alone = op_of_primitive(primitive_of(logistic("return 1 / (1 + exp(-x));")))
    assert [str(kernel) for kernel in alone.opdef.kernels] == ["numpy (cpu, *)", "numba (cpu, floating)", "c (cpu, *)"]


@pytest.mark.slow  # both runtimes, and gradients of two orders
def test_verify_takes_a_primitive_and_judges_its_derivatives():
    f = define(lambda x: x / (1 + abs(x)), derivative=lambda x, y: (1 - abs(y)) ** 2, ulp=2)
    report = opsdk.verify(f)
    assert report.verdict == "pass"
    assert [row.op for row in report.rows][::7] == ["t::f", "t::f_grad", "t::f_grad_grad"]
    assert {"accuracy", "vjp", "vjp2", "static2"} <= set(report.coverage.checks)

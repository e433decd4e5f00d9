import pytest

from opsdk.define.identity.uncompiled import uncompiled

numba = pytest.importorskip("numba")


@numba.njit
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_compiled_functions_run_as_python_also_where_they_call_themselves():
    known = {}
    made = uncompiled(lambda n, *, plus=1: [factorial(k) + plus for k in (n,)], known)
    assert made(5) == [121]
    of = made.__globals__["factorial"]
    assert list(known.values()) == [made, of]
    assert of.__globals__["factorial"] is of
    assert globals()["factorial"] is factorial  # here nothing changed
    assert factorial.signatures == []


def test_a_function_of_a_closure_that_calls_itself_is_made_once():
    @numba.njit
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    known = {}
    assert uncompiled(lambda: fibonacci(10) + undefined_yet(), known).__closure__[0].cell_contents(10) == 55
    assert len(known) == 2
    assert fibonacci.signatures == []
    undefined_yet = None


def test_what_is_no_function_of_python_is_returned_as_it_is():
    assert uncompiled(len, {}) is len

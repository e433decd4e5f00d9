from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gradcheck import UsageError, check
from gradcheck.model.protocol import normalise_gradients, normalise_outputs, read_inputs, read_names

X = np.ones(3)


def same(x: Any) -> Any:
    return x + 0


def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0].copy(),)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((1, vjp, (X,)), {}, "forward: expected a callable, got int; pass the function itself"),
        ((same, None, (X,)), {}, "vjp: expected a callable, got NoneType"),
        ((same, vjp, (X,)), {"jvp": 3}, "jvp: expected a callable, got int"),
        ((same, vjp, ()), {}, "inputs: expected at least one array, got an empty sequence"),
        ((same, vjp, X), {}, "inputs: expected a tuple of arrays and scalars, got ndarray; write (x,)"),
        ((same, vjp, (3,)), {}, "expected a floating or complex input to differentiate, got none (x is int)"),
        ((same, vjp, (X,)), {"nondifferentiable": ("x",)}, "expected a floating or complex input to differentiate"),
        ((same, vjp, (X,)), {"nondifferentiable": ("z",)}, "nondifferentiable: expected inputs among x, got 'z'"),
        ((same, vjp, (X,)), {"nondifferentiable": (4,)}, "nondifferentiable: expected inputs among x, got 4"),
        (
            (same, vjp, (X,)),
            {"alias_ok": ("all",)},
            "alias_ok: expected some of output, cotangent, gradients, got",
        ),
        ((same, vjp, (X,)), {"names": ("a", "b")}, "names: expected 1 different names, one per input, got ('a', 'b')"),
        ((same, vjp, (X.astype(object),)), {}, "input 0: expected a floating, complex, integer or bool dtype, got obj"),
        ((same, vjp, (X,)), {"budget": 5}, "budget: expected an integer >= 200 forward calls or None, got 5; raise it"),
        ((same, vjp, (X,)), {"budget": "all"}, "budget: expected an integer >= 200 forward calls or None, got 'all'"),
    ],
)
def test_a_call_that_cannot_work_is_refused_in_words(arguments: Any, options: Any, text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(text)):
        check(*arguments, **options)


def test_names_come_from_the_signature_then_from_positions() -> None:
    def starred(first: Any, *rest: Any) -> Any:
        return first

    assert read_names(starred, 3, None) == ("first", "input 1", "input 2")
    assert read_names(same, 1, ["weight"]) == ("weight",)


def test_scalars_become_arrays_and_integers_stay() -> None:
    array, number, flag = read_inputs((2.5, 3, True))
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.float64
    assert array.shape == ()
    assert number == 3
    assert flag is True


def test_inputs_are_copied() -> None:
    (copy,) = read_inputs((X,))
    assert not np.shares_memory(X, copy)  # type: ignore[arg-type]


def test_one_output_and_one_gradient_need_no_tuple() -> None:
    assert [output.tolist() for output in normalise_outputs(np.float64(2))] == [2.0]
    assert [output.tolist() for output in normalise_outputs([X, 1])] == [[1, 1, 1], 1]
    assert normalise_gradients([None]) == (None,)
    assert len(normalise_gradients(X)) == 1


def test_a_mapping_of_gradients_is_refused() -> None:
    with pytest.raises(TypeError, match="vjp returned a mapping; expected a tuple with one gradient or None per input"):
        normalise_gradients({"x": X})

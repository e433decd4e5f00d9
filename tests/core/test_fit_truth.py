import re

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import AttributeValueError
from opsdk.core.fit import as_bool

INTEGERS = np.arange(3)


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_a_bool_is_taken(value):
    assert as_bool(value, "it") is bool(value)


@pytest.mark.parametrize("value", ["1", "", 0, 1, 1.0, None, np.ones(1, bool), "False"])
def test_what_merely_counts_as_one_is_refused(value):
    with pytest.raises(AttributeValueError, match=re.escape(f"op: flag expected True or False, got {value!r}")):
        as_bool(value, "op: flag")


def assigned(name, value, make):
    return lambda: setattr(make(), name, value)


def variable():
    return static.Program().global_block().create_var("v", [1], "float32")


def frozen(**options):
    with static.program_guard(static.Program(), static.Program()):
        return static.create_parameter([1], "float32", attr=static.ParamAttr(name="p"), **options)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("to_tensor: stop_gradient", lambda: opsdk.to_tensor([1.0], stop_gradient="x")),
        ("tensor: stop_gradient", assigned("stop_gradient", "x", lambda: opsdk.ones([1]))),
        ("tensor: requires_grad", assigned("requires_grad", "x", lambda: opsdk.ones([1]))),
        ("Parameter: trainable", lambda: nn.Parameter([1.0], trainable="x")),
        ("Parameter: requires_grad", lambda: nn.Parameter([1.0], requires_grad="x")),
        ("Parameter: trainable", assigned("trainable", "x", lambda: nn.Parameter([1.0]))),
        ("ParamAttr: trainable", lambda: static.ParamAttr(trainable="x")),
        ("ParamAttr: need_clip", lambda: static.ParamAttr(need_clip="x")),
        ("variable 'v': stop_gradient", assigned("stop_gradient", "x", variable)),
        (
            "variable 'v': stop_gradient",
            lambda: static.Program().global_block().create_var("v", [1], "float32", stop_gradient="x"),
        ),
        ("parameter 'p': trainable", assigned("trainable", "x", frozen)),
        (
            "parameter 'p': trainable",
            lambda: static.Program().global_block().create_parameter("p", [1], "float32", trainable="x"),
        ),
        ("InputSpec: stop_gradient", lambda: static.InputSpec([1], "float32", stop_gradient="x")),
    ],
)
def test_whether_there_is_a_gradient_is_said_with_true_or_false(text, call):
    with pytest.raises(AttributeValueError, match=f"{text} expected True or False, got 'x'"):
        call()

import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import HookError


@pytest.fixture
def flatten():
    return nn.Flatten()


@pytest.fixture
def ones():
    return opsdk.ones([10, 1], "float32")


def test_a_post_hook_replaces_the_output(flatten, ones):
    handle = flatten.register_forward_post_hook(lambda layer, inputs, output: 2 * output)
    assert flatten(ones).tolist() == [[2.0]] * 10
    assert handle.remove()
    assert not handle.remove()
    assert flatten(ones).tolist() == [[1.0]] * 10


def test_a_pre_hook_sees_the_inputs_as_a_tuple(flatten, ones):
    seen = []

    def hook(layer, inputs):
        seen.append((layer, inputs))
        return inputs

    flatten.register_forward_pre_hook(hook)
    assert flatten(ones).tolist() == [[1.0]] * 10
    assert seen == [(flatten, (ones,))]


@pytest.mark.parametrize("wrap", [lambda x: x * 3.0, lambda x: (x * 3.0,)])
def test_a_pre_hook_replaces_the_input_by_one_value_or_a_tuple(flatten, ones, wrap):
    flatten.register_forward_pre_hook(lambda layer, inputs: wrap(inputs[0]))
    assert flatten(ones).tolist() == [[3.0]] * 10


def test_none_changes_nothing(flatten, ones):
    flatten.register_forward_pre_hook(lambda layer, inputs: None)
    flatten.register_forward_hook(lambda layer, inputs, output: None)
    assert flatten(ones).tolist() == [[1.0]] * 10


def test_hooks_run_in_order_and_prepended_ones_first():
    order = []

    class Named(nn.Layer):
        def forward(self, x):
            order.append("forward")
            return x + 1

    layer = Named()
    layer.register_forward_pre_hook(lambda *_: order.append("pre1"))
    layer.register_forward_pre_hook(lambda *_: order.append("pre2"))
    layer.register_forward_pre_hook(lambda *_: order.append("pre0"), prepend=True)
    layer.register_forward_post_hook(lambda layer, inputs, output: order.append("post1") or output * 10)
    layer.register_forward_post_hook(lambda *_: order.append("post2"))
    layer.register_forward_post_hook(lambda *_: order.append("post0"), prepend=True)
    assert layer(1) == 20
    assert order == ["pre0", "pre1", "pre2", "forward", "post0", "post1", "post2"]


def test_hooks_with_kwargs_see_and_replace_them():
    class Scaled(nn.Layer):
        def forward(self, x, factor=1):
            return x * factor

    layer = Scaled()
    layer.register_forward_pre_hook(
        lambda layer, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
    )
    layer.register_forward_post_hook(lambda layer, args, kwargs, output: (args, kwargs, output), with_kwargs=True)
    assert layer(2, factor=4) == ((2,), {"factor": 5}, 10)


def test_a_pre_hook_with_kwargs_may_keep_them_or_give_one_input():
    class Scaled(nn.Layer):
        def forward(self, x, factor=1):
            return x * factor

    layer = Scaled()
    handle = layer.register_forward_pre_hook(lambda layer, args, kwargs: None, with_kwargs=True)
    assert layer(2, factor=4) == 8
    handle.remove()
    layer.register_forward_pre_hook(lambda layer, args, kwargs: (7, kwargs), with_kwargs=True)
    assert layer(2, factor=4) == 28


def test_a_pre_hook_with_kwargs_that_returns_something_else_is_refused(flatten, ones):
    flatten.register_forward_pre_hook(lambda layer, args, kwargs: args, with_kwargs=True)
    with pytest.raises(
        HookError, match=r"forward pre hook of Flatten: with_kwargs expected None or \(inputs, kwargs\), got tuple"
    ):
        flatten(ones)


def test_forward_bypasses_the_hooks(flatten, ones):
    flatten.register_forward_post_hook(lambda layer, inputs, output: 2 * output)
    assert flatten.forward(ones).tolist() == [[1.0]] * 10


def test_an_exception_in_a_hook_is_not_changed(flatten, ones):
    flatten.register_forward_pre_hook(lambda layer, inputs: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        flatten(ones)


def test_a_hook_that_is_always_called_runs_after_a_failure():
    class Failing(nn.Layer):
        def forward(self, x):
            raise KeyError("planted")

    seen = []
    layer = Failing()
    layer.register_forward_post_hook(lambda layer, inputs, output: seen.append(output), always_call=True)
    layer.register_forward_post_hook(lambda layer, inputs, output: seen.append("not called"))
    with pytest.raises(KeyError, match="planted"):
        layer(1)
    assert seen == [None]


def test_a_hook_that_failed_is_not_called_again(flatten, ones):
    calls = []

    def hook(layer, inputs, output):
        calls.append(output)
        raise ZeroDivisionError

    flatten.register_forward_post_hook(hook, always_call=True)
    with pytest.raises(ZeroDivisionError):
        flatten(ones)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "name", ["register_forward_pre_hook", "register_forward_post_hook", "register_state_dict_hook"]
)
def test_a_hook_is_callable(flatten, name):
    with pytest.raises(HookError, match=f"{name}: expected a callable, got int"):
        getattr(flatten, name)(3)


def test_a_handle_removes_its_hook_at_the_end_of_a_with_block(flatten, ones):
    with flatten.register_forward_post_hook(lambda layer, inputs, output: 2 * output):
        assert flatten(ones).tolist() == [[2.0]] * 10
    assert flatten(ones).tolist() == [[1.0]] * 10

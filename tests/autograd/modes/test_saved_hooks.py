import gc
import weakref

import numpy as np
import pytest

import opsdk
from opsdk.autograd import PyLayer, recompute, saved_tensors_hooks
from opsdk.core.errors import GraphError, HookError, InPlaceError, VersionError


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


class Log:
    """Hooks that keep arrays, and what they were asked."""

    def __init__(self):
        self.packed, self.unpacked = [], 0

    def pack(self, tensor):
        assert tensor.stop_gradient
        self.packed.append(tensor.tolist())
        return tensor.numpy()

    def unpack(self, array):
        self.unpacked += 1
        return opsdk.to_tensor(array)

    def hooks(self):
        return saved_tensors_hooks(self.pack, self.unpack)


def test_what_calls_save_is_packed_and_unpacked_by_the_backward():
    log, x = Log(), leaf([2.0, 3.0])
    with log.hooks():
        y = x.exp()  # saves its output
        z = y * x  # saves both inputs
    assert log.unpacked == 0
    np.testing.assert_allclose(log.packed, [y.tolist(), y.tolist(), x.tolist()])
    z.sum().backward()
    assert log.unpacked == 3
    np.testing.assert_allclose(x.grad.numpy(), np.exp([2.0, 3.0]) * [3.0, 4.0], rtol=1e-12)


def test_what_unpack_gives_is_what_the_backward_computes_with():
    x = leaf([2.0])
    with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor * 10.0):
        y = x * x
    y.backward()
    assert x.grad.tolist() == [40.0]


def test_calls_outside_and_calls_that_nobody_differentiates_are_not_packed():
    log, x = Log(), leaf([2.0])
    with log.hooks():
        x.detach().exp()
        with opsdk.no_grad():
            x.exp()
    x.exp().backward()
    assert log.packed == []


def test_second_derivatives_go_through_what_was_unpacked():
    log, x = Log(), leaf([2.0])
    with log.hooks():
        y = x * x * x
    (dx,) = opsdk.grad(y, x, create_graph=True)
    (ddx,) = opsdk.grad(dx, x)
    assert (dx.item(), ddx.item()) == (12.0, 12.0)
    assert log.unpacked > 0


def test_lists_and_the_parts_of_composites_are_packed_too():
    log, x = Log(), leaf([2.0, 3.0])

    with opsdk.scoped_registry(), log.hooks():

        @opsdk.op("saved_hooks_cube(Tensor x) -> Tensor y", composite=True)
        def cube(x):
            return x * x * x

        y = cube(x)
    assert len(log.packed) == 4
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [12.0, 27.0])


def test_what_a_py_layer_saves_is_packed():
    class Square(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None, "text")
            return x * x

        @staticmethod
        def backward(ctx, dy):
            x, nothing, text = ctx.saved_tensor()
            assert (nothing, text) == (None, "text")
            return dy * x * 2.0

    log, x = Log(), leaf([3.0])
    with log.hooks():
        y = Square.apply(x * 1.0)
        z = Square.apply(x)
    assert [3.0] in log.packed
    before = log.unpacked
    (dx,) = opsdk.grad(y + z, x, create_graph=True)
    assert log.unpacked >= before + 2
    assert (dx.item(), opsdk.grad(dx, x, retain_graph=True)[0].item()) == (12.0, 4.0)
    (y + z).backward()
    assert x.grad.item() == 12.0


def test_the_innermost_hooks_are_asked():
    outer, inner, x = Log(), Log(), leaf([2.0])
    with outer.hooks():
        a = x.exp()
        with inner.hooks():
            b = x.tanh()
    (a + b).backward()
    assert (len(outer.packed), len(inner.packed)) == (1, 1)
    assert (outer.unpacked, inner.unpacked) == (1, 1)


def test_a_change_in_place_after_packing_is_found():
    x = leaf([2.0])
    with Log().hooks():
        y = x * 1.0
        z = y * y
    with opsdk.no_grad():
        y.fill_(5.0)
    with pytest.raises(VersionError, match="it was changed in place since"):
        z.backward()


@pytest.mark.parametrize("hooks", [(None, lambda x: x), (lambda x: x, 3)])
def test_hooks_that_cannot_be_called_are_an_error(hooks):
    with pytest.raises(HookError, match=r"saved_tensors_hooks: (un)?pack_hook expected a callable, got (NoneType|int)"):
        saved_tensors_hooks(*hooks)


@pytest.mark.parametrize(
    ("unpack", "text"),
    [
        (lambda t: t.numpy(), "unpack expected to return a Tensor, got ndarray"),
        (
            lambda t: t.astype("float32"),
            "unpack expected to return a tensor of shape (1,) and float64 at Place(cpu)",
        ),
        (lambda t: t.reshape([1, 1]), "was packed, got (1, 1) and float64"),
    ],
)
def test_what_cannot_stand_for_the_saved_tensor_is_an_error_that_changes_nothing(unpack, text):
    x = leaf([2.0])
    with saved_tensors_hooks(lambda tensor: tensor, unpack):
        y = x.exp()
    with pytest.raises(HookError) as raised:
        y.backward()
    assert text in str(raised.value)
    assert x.grad is None


def test_a_pack_hook_that_changes_its_tensor_is_an_error():
    x = leaf([2.0])
    hooks = saved_tensors_hooks(lambda tensor: tensor.fill_(0.0), lambda tensor: tensor)
    with hooks, pytest.raises(HookError, match="pack expected to leave its tensor as it is, it changed it in place"):
        x.exp()


# -- recompute --------------------------------------------------------------------------------------------------------


def block(x, w):
    return ((x @ w).tanh() * x).exp()


@pytest.mark.parametrize("options", [{}, {"use_reentrant": True}, {"preserve_rng_state": False}])
def test_recompute_gives_the_same_gradients_to_the_bit(options):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4, 4)), rng.standard_normal((4, 4)) / 4
    plain = [leaf(value) for value in values]
    block(*plain).sum().backward()
    again = [leaf(value) for value in values]
    recompute(block, *again, **options).sum().backward()
    for a, b in zip(plain, again, strict=True):
        assert np.array_equal(a.grad.numpy(), b.grad.numpy())


def test_the_function_runs_once_more_and_only_when_the_backward_needs_it():
    runs = []
    x = leaf([2.0])
    y = recompute(lambda x: runs.append(1) or (x.exp() * x).tanh(), x)
    assert len(runs) == 1
    y.backward(retain_graph=True)
    assert len(runs) == 2
    y.backward()
    assert len(runs) == 3


def test_nothing_is_kept_meanwhile():
    kept = []

    def function(x):
        middle = x.exp()
        kept.append(weakref.ref(middle._array))
        return middle * middle

    x = leaf(np.ones(2000))
    gc.disable()
    try:
        y = recompute(function, x)
        assert kept[0]() is None
        y.sum().backward()
    finally:
        gc.enable()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2.0))


def test_tensors_that_the_function_reads_beside_its_arguments_get_gradients():
    x, w = leaf([2.0]), leaf([3.0])
    recompute(lambda x: (x * w).exp(), x).backward()
    np.testing.assert_allclose([x.grad.item(), w.grad.item()], [3 * np.exp(6), 2 * np.exp(6)], rtol=1e-12)


def test_derivatives_of_every_order_go_through_it():
    x = leaf([2.0])
    (dx,) = opsdk.grad(recompute(lambda x: x * x * x, x), x, create_graph=True)
    assert (dx.item(), opsdk.grad(dx, x)[0].item()) == (12.0, 12.0)


def test_recompute_inside_of_recompute():
    runs = []

    def inner(x):
        runs.append("inner")
        return x.exp()

    def outer(x):
        runs.append("outer")
        return recompute(inner, x * x) * x

    x = leaf([0.5])
    recompute(outer, x).backward()
    np.testing.assert_allclose(x.grad.item(), np.exp(0.25) * (1 + 2 * 0.25), rtol=1e-12)
    assert runs[:2] == ["outer", "inner"]


def test_random_numbers_are_drawn_again_and_no_generator_moves():
    masks, own = [], opsdk.Generator(5)

    def function(x):
        mask = opsdk.rand([4])
        other = opsdk.to_tensor(own.draw().numpy().random(4).astype("float32"))
        masks.append([mask.tolist(), other.tolist()])
        return (x * mask * other).exp()

    opsdk.seed(7)
    x = leaf(np.ones(4), "float32")
    y = recompute(function, x)
    counted, following = own.state_dict(), opsdk.rand([1]).item()
    opsdk.seed(7)
    function(x)
    assert opsdk.rand([1]).item() == following
    del masks[1:]
    y.sum().backward()
    assert masks[1] == masks[0]
    assert own.state_dict() == {**counted, "count": counted["count"] + 1}
    opsdk.seed(8)
    opsdk.rand([3])
    after = opsdk.rand([1]).item()
    opsdk.seed(8)
    opsdk.rand([3])
    z = recompute(lambda x: x.exp() * 2.0, x)
    z.sum().backward()
    assert opsdk.rand([1]).item() == after


def test_more_draws_than_at_first_are_an_error():
    runs = []

    def function(x):
        runs.append(1)
        return (x * opsdk.rand([1]) * (opsdk.rand([1]) if len(runs) > 1 else 1.0)).exp()

    with pytest.raises(GraphError, match="expected as many random draws as in the first run, got more"):
        recompute(function, leaf([1.0], "float32")).backward()


def test_a_function_that_does_something_else_the_second_time_is_an_error():
    runs = []

    def function(x):
        runs.append(1)
        return x.exp() if len(runs) == 1 else x.exp() * x

    x = leaf([1.0])
    y = recompute(function, x)
    with pytest.raises(GraphError, match="expected the function to keep the 1 tensors that it kept at first, it"):
        y.backward()
    assert x.grad is None


def test_a_function_that_changes_an_argument_is_an_error():
    with pytest.raises(InPlaceError, match="expected a function that leaves its arguments as they are, since it runs"):
        recompute(lambda x: x.add_(opsdk.ones([1], "float64")).exp(), leaf([1.0]) * 1.0)


def test_an_argument_that_is_changed_before_the_backward_is_an_error():
    x = leaf([1.0])
    middle = x * 1.0
    y = recompute(lambda t, extra: (t + extra["k"]).exp(), middle, extra={"k": opsdk.ones([1], "float64")})
    with opsdk.no_grad():
        middle.fill_(5.0)
    with pytest.raises(VersionError, match="backward needs the arguments of the function as they were, tensor 0 among"):
        y.backward()


def test_without_recording_the_function_is_called_and_no_more():
    with opsdk.no_grad():
        assert recompute(lambda x, k: x + k, leaf([1.0]), k=2.0).tolist() == [3.0]


def test_state_that_recompute_finds_moved_moves_once_and_gradients_see_it_as_it_was():
    seen = opsdk.to_tensor([1.0, 2.0])
    count = opsdk.to_tensor([0.0])

    def moving(x):
        y = opsdk.exp(x * seen.clone())  # the clone is kept for the backward
        seen.multiply_(3.0)
        count.set_value([count.item() + 1])
        return y

    x = opsdk.to_tensor([0.5, 0.25], stop_gradient=False)
    out = recompute(moving, x)
    after = seen.tolist(), count.tolist(), seen.inplace_version
    assert after[:2] == ([3.0, 6.0], [1.0])
    out.sum().backward()
    assert (seen.tolist(), count.tolist(), seen.inplace_version) == after
    np.testing.assert_allclose(x.grad.numpy(), [np.exp(0.5), 2 * np.exp(0.5)], rtol=1e-6)


def test_running_statistics_move_once_under_recompute_and_under_two_of_them():
    x = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
    results = []
    for wrap in (lambda f: f, lambda f: lambda v: recompute(f, v), lambda f: lambda v: recompute(recompute, f, v)):
        norm = opsdk.nn.BatchNorm1D(3)
        tensor = opsdk.to_tensor(x, stop_gradient=False)
        out = wrap(norm)(tensor)
        (out * out * tensor.detach()).sum().backward()
        results.append((norm._mean.tolist(), norm._variance.tolist(), tensor.grad.tolist()))
    assert results[0] == results[1] == results[2]

"""Calls and backwards that leave the fast path at every place; each case gives what it came to, as text."""

import json
import sys
from functools import partial

import numpy as np

import opsdk
from opsdk.define.op import REGISTRY

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def make(forward, backward=None, name="f", **options):
    """Gives an op that was called and gone back through before, so that its kind of call is known."""
    calls = {"forward": 0, "backward": 0}

    def f(x):
        calls["forward"] += 1
        return forward(x) if calls["forward"] > 2 else np.maximum(x, 0)

    op = opsdk.op(f"t::{name}(Tensor x) -> Tensor y", **options)(f)

    if backward is not None:

        def f_grad(y, dy):
            calls["backward"] += 1
            return backward(y, dy) if calls["backward"] > 2 else dy * (y > 0)

        op.backward(f_grad)
        for _ in range(2):
            op(leaf()).backward(ones())
    else:
        for _ in range(2):
            op(opsdk.to_tensor(np.ones(3, np.float32)))
    op.calls = calls
    return op


def leaf(values=(1.0, -2.0, 3.0)):
    return opsdk.to_tensor(np.array(values, np.float32), stop_gradient=False)


def ones():
    return opsdk.to_tensor(np.ones(3, np.float32))


def slope(y, dy):
    return dy * (y > 0)


def relu(x):
    return np.maximum(x, 0)


def told(action):
    try:
        value = action()
    except BaseException as error:
        notes = getattr(error, "__notes__", [])
        chain = [type(link).__name__ for link in (error.__cause__, error.__context__)]
        return [type(error).__name__, str(error), [note.split(" at /")[0] for note in notes], chain]
    return None if value is None else value.tolist() if hasattr(value, "tolist") else np.asarray(value).tolist()


GIVES = {
    "fresh": lambda x: x * 2,
    "a_scalar": lambda x: x.sum(),
    "its_input": lambda x: x,
    "a_part_of_its_input": lambda x: x[:],
    "nothing": lambda x: None,
    "a_list": lambda x: [x + 1],
    "two": lambda x: (x + 1, x + 2),
    "text": lambda x: "text",
    "another_dtype": lambda x: x.astype(np.float64),
    "a_transpose": lambda x: np.stack([x, x]).T[:, 0],
    "a_subclass": lambda x: np.ma.masked_array(x + 1),
    "an_exception": lambda x: 1 / 0,
    "an_exit": lambda x: sys.exit(3),
    "a_write": lambda x: x.__setitem__(0, 5),
    "a_refused_write": lambda x: np.add(x, 1, out=x),
}


@case
def what_kernels_give():
    return {name: told(partial(make(give, slope, name=name), leaf())) for name, give in GIVES.items()}


@case
def what_kernels_give_outside_of_the_tape():
    x = opsdk.to_tensor(np.ones(3, np.float32))
    return {name: told(partial(make(give, name=name), x)) for name, give in GIVES.items()}


GRADIENTS = {
    "fresh": lambda y, dy: dy * 3,
    "the_cotangent": lambda y, dy: dy,
    "what_was_saved": lambda y, dy: y,
    "a_part": lambda y, dy: dy[:],
    "nothing": lambda y, dy: None,
    "another_shape": lambda y, dy: np.zeros((2, 2), np.float32),
    "another_dtype": lambda y, dy: dy.astype(np.float64),
    "a_scalar": lambda y, dy: np.float32(1),
    "a_tuple": lambda y, dy: (dy * 2,),
    "an_exception": lambda y, dy: 1 / 0,
    "an_exit": lambda y, dy: sys.exit(3),
    "a_write": lambda y, dy: dy.__setitem__(0, 5),
}


@case
def what_gradient_kernels_give():
    found = {}
    for name, gradient in GRADIENTS.items():
        op, x = make(relu, gradient, name=name), leaf()
        first, y = op(x), op(op(x))
        error = told(lambda: y.backward(ones()))  # noqa: B023
        before = told(lambda: x.grad)  # noqa: B023
        again = told(lambda: first.backward(ones()))  # noqa: B023
        found[name] = [error, before, again, told(lambda: x.grad), op.calls]  # noqa: B023
    return found


@case
def graphs_that_are_not_straight():
    f, x = make(relu, slope), leaf()
    found = []
    for loss in (
        lambda: f(f(x)).sum(),
        lambda: f(x + x),
        lambda: f(x) + f(x),
        lambda: f(f(x) * f(x)),
        lambda: f(f(f(f(x)[1:].sum()))),
        lambda: f(x * 2.0),
        lambda: f(opsdk.concat([f(x), f(x)]))[:3] if hasattr(opsdk, "concat") else f(x),
    ):
        x.grad = None
        y = loss()
        y.backward(opsdk.to_tensor(np.full(y.shape, 2, np.float32)))
        found.append([told(lambda: x.grad), told(y.backward)])
    return found


@case
def seeds():
    f, x = make(relu, slope), leaf()
    given = (None, ones(), np.full(3, 2, np.float32), np.ones(2, np.float32), np.ones(3), [1.0], "no",
             opsdk.to_tensor(np.ones((3, 1), np.float32)))
    found = []
    for seed in given:
        x.grad = None
        found.append([told(lambda: f(x).backward(seed)), told(lambda: x.grad)])  # noqa: B023
    return [*found, told(ones().backward), told(lambda: x.backward(ones())), told(lambda: x.grad)]


@case
def gradients_that_are_there_already():
    f, x = make(relu, slope), leaf()
    found = []
    for _ in range(3):
        f(x).backward(ones())
        found.append(x.grad)
    x.clear_grad()
    f(x).backward(ones())
    return [told(lambda: grad) for grad in (*found, x.grad)]  # noqa: B023


@case
def graphs_that_were_freed():
    f, x = make(relu, slope), leaf()
    y = f(f(x))
    y.backward(ones(), retain_graph=True)
    y.backward(ones())
    return [told(lambda: y.backward(ones())), told(lambda: x.grad)]


@case
def values_that_were_changed():
    f, x = make(relu, slope), leaf()
    y = f(x)
    y.fill_(3.0)
    z = f(x)
    later = f(z)
    with opsdk.no_grad():
        z.fill_(3.0)
    return [told(y.backward), told(lambda: later.backward(ones())), told(lambda: x.grad)]


@case
def hooks():
    f, found = make(relu, slope), []
    for place in range(3):
        x = leaf()
        y = f(x)
        z = f(y)
        (x, y, z)[place].register_hook(lambda grad: grad * 10)
        y.retain_grads()
        z.backward(ones())
        found.append([told(lambda: t.grad) for t in (x, y)])  # noqa: B023
    return found


@case
def a_hook_that_a_kernel_registers_on_the_way():
    x = leaf()
    inner = make(relu, slope, name="inner")
    y = inner(x)
    outer = make(relu, lambda y_, dy: (y.register_hook(lambda grad: grad * 5), dy * 1)[1], name="outer")
    outer(y).backward(ones())
    return [told(lambda: x.grad), inner.calls, outer.calls]


@case
def a_kernel_that_frees_the_graph_on_the_way():
    x = leaf()
    inner = make(relu, slope, name="inner")
    y = inner(x)
    outer = make(relu, lambda y_, dy: (y.backward(ones()), dy * 1)[1], name="outer")
    z = outer(y)
    return [told(lambda: z.backward(ones())), told(lambda: x.grad), inner.calls, outer.calls]


@case
def backwards_within_backwards():
    depth = [0]

    def gradient(y, dy):
        depth[0] += 1
        if depth[0] < 400:
            x = leaf()
            op(x).backward(ones())
            return x.grad.numpy() + 1
        return dy * 0

    op = make(relu, gradient)
    x = leaf()
    op(x).backward(ones())
    return [told(lambda: x.grad), len(opsdk.autograd.engine.ACTIVE)]


@case
def modes():
    f, x = make(relu, slope), leaf()
    with opsdk.no_grad():
        y = f(x)
    with opsdk.no_grad(), opsdk.enable_grad():
        z = f(x)
    return [y.stop_gradient, z.stop_gradient, f(ones()).stop_gradient, f(z).stop_gradient]


@case
def kinds_of_values():
    f = make(relu, slope)
    p = opsdk.nn.Parameter(np.array([1.0, -1.0, 2.0], np.float32))
    f(p).backward(ones())
    unset = opsdk.nn.Layer("named").create_tensor("empty")
    unset.name = "empty"  # one that is made tells how many layers there were
    given = ((unset,), ("text",), (), (p, p), ([1.0, 2.0],), (np.ones(2),))
    named = told(lambda: f(x=p)), told(lambda: f(p, n=1))
    return [told(lambda: p.grad), *[told(partial(f, *values)) for values in given], *named]


@case
def integers_and_what_has_no_gradient():
    whole = opsdk.op("t::whole(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec(x.shape, "int64"))(
        lambda x: np.floor(x).astype(np.int64)
    )
    plain = opsdk.op("t::plain(Tensor x) -> Tensor y")(lambda x: x + 1)
    x, found = leaf(), []
    for _ in range(3):
        y = whole(x)
        found += [y.stop_gradient, told(lambda: y), told(lambda: plain(x).backward(ones()))]  # noqa: B023
    return found


@case
def a_definition_that_changes():
    f, x = make(relu, slope), leaf()
    before = f(x)
    f.backward(lambda y, dy: dy * 7, name="seven", replace=True)
    after = f(x)
    found = []
    for y in (before, after, f(x)):
        x.grad = None
        y.backward(ones())
        found.append(told(lambda: x.grad))
    f.kernel("cpu", lambda x: x * 0 + 4, language="numpy", dtype="float32")
    return [*found, told(lambda: f(x))]


@case
def derivatives_of_derivatives():
    x = leaf()
    y = opsdk.exp(opsdk.exp(x))
    (dx,) = opsdk.grad(y, x, create_graph=True)
    dx.backward(ones())
    f = make(relu, slope)
    return [told(lambda: dx), told(lambda: x.grad), told(lambda: opsdk.grad(f(x), x, create_graph=True)[0])]


def results():
    """Gives what every case comes to."""
    found = {}
    for name, function in CASES.items():
        with REGISTRY.scoped():
            found[name] = function()
    return found


if __name__ == "__main__":
    json.dump(results(), sys.stdout)

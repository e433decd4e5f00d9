"""Ops that change what they are given, for tests; each is defined in the scope of the test that asks for it."""

import opsdk


def define_decay():
    @opsdk.op("v::decay_(Tensor(a!) x, *, float rate=0.5) -> Tensor(a!) y")
    def decay_(x, *, rate):
        x *= 1 - rate

    @decay_.backward
    def decay_grad(dy, rate):
        return dy * (1 - rate)

    return decay_


def define_add():
    @opsdk.op("v::add_square_(Tensor(a!) s, Tensor x) -> Tensor(a!) y")
    def add_square_(s, x):
        s += x * x

    @add_square_.backward
    def add_square_grad(x, dy):
        return dy, 2 * x * dy

    return add_square_


def define_tracked():
    @opsdk.op("v::tracked(Tensor x, Tensor(a!)? seen=None) -> Tensor y", nondifferentiable=["seen"])
    def tracked(x, seen):
        if seen is not None:
            seen += x
        return x * x

    @tracked.backward
    def tracked_grad(x, dy):
        return 2 * x * dy

    return tracked


def define_scaled_lists():
    @opsdk.op("v::scale_all_(Tensor(a!)[] xs, Tensor k) -> (Tensor(a!)[] ys, Tensor total)")
    def scale_all_(xs, k):
        total = sum(xs).copy()
        for x in xs:
            x *= k
        return total

    @scale_all_.infer
    def scale_all_specs(xs, k):
        return list(xs), xs[0]

    @scale_all_.backward
    def scale_all_grad(ys, k, dys, dtotal):
        return [dy * k + dtotal for dy in dys], sum(dy * y / k for dy, y in zip(dys, ys, strict=True))

    return scale_all_

import math

from opsdk.expr import vmath
from opsdk.expr.node import Node
from opsdk.expr.row.row import FULL, ROW
from opsdk.expr.row.row_plan import loops_of, lowered
from opsdk.expr.symbol import Symbol

ROLES = {"x": FULL, "r": ROW}
X, R = Symbol(Node("input", (), "x")), Symbol(Node("input", (), "r"))


def plan(*symbols):
    return loops_of(lowered([symbol.node for symbol in symbols]), ROLES)


def names(nodes):
    return [node.op for node in nodes]


def test_softmax_takes_one_exp_per_element_in_three_loops():
    first, second, last = plan(vmath.exp(X - vmath.row_logsumexp(X)))
    assert names(first.reductions) == ["row_max"]
    assert (names(second.body), names(second.reductions), names(second.keeps)) == (["sub", "exp"], ["row_sum"], ["exp"])
    assert (names(last.reads), names(last.body)) == (["exp"], ["mul"])


def test_what_is_cheap_is_computed_again_and_not_kept():
    first, second = plan((X - R) * vmath.row_sum(X - R))
    assert (first.keeps, second.reads) == ([], [])
    assert names(second.body) == ["sub", "mul"]


def test_reductions_that_need_nothing_of_each_other_share_a_loop():
    first, last = plan(vmath.row_sum(X) + vmath.row_max(X) + vmath.row_min(X * X))
    assert sorted(names(first.reductions)) == ["row_max", "row_min", "row_sum"]
    assert names(last.before) == ["add", "add"]


def test_taking_one_element_takes_no_loop():
    (only,) = plan(vmath.row_take(vmath.exp(X), R))
    assert (names(only.before), only.body, only.reductions) == (["row_take"], [], [])


def test_a_mean_is_a_sum_and_a_quotient():
    (root,) = lowered([vmath.row_mean(X).node])
    assert (root.op, names(root.args)) == ("div", ["row_sum", "row_size"])


def test_nothing_is_kept_where_everything_counts_as_cheap():
    roots = lowered([vmath.exp(X - vmath.row_logsumexp(X)).node])
    loops = loops_of(roots, ROLES, float("inf"))
    assert [(loop.keeps, loop.reads) for loop in loops] == [([], [])] * 3
    assert names(loops[-1].body) == ["sub", "exp", "mul"]


def test_what_is_compared_with_its_own_extreme_is_kept_however_cheap():
    value = X * X + R
    root = vmath.where(value < vmath.row_max(value), 0.0, 1.0).node
    kept, none = (loops_of([root], ROLES, cheap) for cheap in (6, math.inf))
    assert [loop.keeps for loop in kept] == [[value.node], []]
    assert [loop.keeps for loop in none] == [[], []]

from opsdk.expr.count import cost, leaves, substitute
from opsdk.expr.node import Node
from opsdk.expr.symbol import Symbol, apply

X, B = Symbol(Node("input", (), "x")), Symbol(Node("attr", (), "b"))
EXP = apply("exp", X)


def test_shared_work_counts_once():
    assert cost([(EXP * EXP).node]) == cost([EXP.node]) + 1


def test_what_is_given_costs_nothing():
    assert cost([(EXP * 2.0).node], free=[EXP.node]) == 1


def test_a_transcendental_function_costs_more_than_arithmetic():
    assert cost([EXP.node]) > cost([(X * X).node])


def test_the_sigmoids_of_a_number_and_its_opposite_share_their_exponential():
    gate, opposite = apply("sigmoid", X), apply("sigmoid", -X)
    alone = cost([gate.node])
    assert alone < cost([gate.node, opposite.node]) == cost([opposite.node, gate.node]) < 2 * alone
    assert cost([opposite.node], free=[gate.node]) == alone + 1  # what was saved holds no exponential


def test_leaves_are_inputs_attributes_and_what_is_given_but_no_constants():
    assert leaves([(EXP * B + 1.0).node]) == [X.node, B.node]
    assert leaves([(B / EXP).node, X.node]) == [B.node, X.node]


def test_a_node_is_replaced_wherever_it_is_used():
    assert substitute([(EXP * EXP + X).node], {EXP.node: B.node}) == [(B * B + X).node]

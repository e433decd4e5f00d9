import gc
import threading

from opsdk.expr import node as node_module
from opsdk.expr.node import BOOL, Node, constant, topological


def x():
    return Node("input", (), "x")


def test_equal_expressions_are_one_object():
    assert Node("add", (x(), constant(1.0))) is Node("add", (x(), constant(1.0)))


def test_constants_that_compare_equal_but_are_not_the_same_stay_apart():
    assert constant(0.0) is not constant(-0.0)
    assert constant(1.0) is not constant(True)
    assert constant(True).kind == BOOL


def test_nan_is_one_constant():
    assert constant(float("nan")) is constant(float("nan"))


def test_nodes_that_nobody_holds_are_forgotten():
    made = Node("mul", (Node("input", (), "only_here"), constant(123.25)))
    keys = len(node_module._interned)
    del made
    gc.collect()
    assert len(node_module._interned) < keys


def test_threads_get_the_same_node():
    found = []
    threads = [threading.Thread(target=lambda: found.append(Node("exp", (x(),)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_operands_come_before_what_uses_them_and_each_node_once():
    leaf = x()
    square = Node("mul", (leaf, leaf))
    root = Node("add", (square, leaf))
    assert topological([root, square]) == [leaf, square, root]


def test_a_deep_expression_is_walked_without_recursion():
    node = x()
    for _ in range(5000):
        node = Node("neg", (node,))
    assert len(topological([node])) == 5001


def test_a_node_prints_as_it_would_be_written():
    assert repr(Node("add", (x(), constant(1.5)))) == "add(x, 1.5)"


def test_a_node_whose_text_would_double_at_every_step_prints_its_beginning():
    node = x()
    for _ in range(60):
        node = Node("mul", (node, node))
    assert repr(node).startswith("mul(mul(mul(")
    assert len(repr(node)) < 10_000

"""Items C of the documents: hooks on layers and tensors; one test an item."""

import numpy as np

import opsdk


def document():
    """o = z · (x + y) of the document, with its four-element tensors."""
    x, y, z = (
        opsdk.to_tensor(np.array(values, "float32"), stop_gradient=False)
        for values in ([0, 1, 2, 3], [4, 5, 6, 7], [1, 2, 3, 4])
    )
    return x, y, z


def test_c05_a_tensor_hook_runs_for_each_gradient_and_may_return_another_one():
    x, y, z = document()
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))  # None keeps the gradient
    y.register_hook(lambda grad: grad * 2)  # another one goes on
    for _ in range(2):
        z.matmul(x + y).backward()
    assert seen == [[1.0, 2.0, 3.0, 4.0]] * 2
    assert x.grad.tolist() == [2.0, 4.0, 6.0, 8.0]
    assert y.grad.tolist() == [4.0, 8.0, 12.0, 16.0]


def test_c06_several_hooks_run_in_order_and_are_removed():
    x, y, z = document()
    order = []
    first = x.register_hook(lambda grad: order.append("first") or grad + 1)
    x.register_hook(lambda grad: order.append("second") or grad * 10)
    z.matmul(x + y).backward()
    assert order == ["first", "second"]
    assert x.grad.tolist() == [20.0, 30.0, 40.0, 50.0]
    assert first.remove() is True
    assert first.remove() is False
    x.clear_grad()
    z.matmul(x + y).backward()
    assert order == ["first", "second", "second"]
    assert x.grad.tolist() == [10.0, 20.0, 30.0, 40.0]


def test_c07_the_example_of_the_document_prints_and_gives_what_it_says(capsys):
    x, y, z = document()

    def print_hook(grad):
        print(grad.numpy())

    def double_hook(grad):
        return grad * 2

    x.register_hook(print_hook)
    x.register_hook(double_hook)
    w = x + y
    w.register_hook(lambda grad: grad * 2)
    z.matmul(w).backward()
    assert capsys.readouterr().out == "[2. 4. 6. 8.]\n"
    assert x.grad.tolist() == [4.0, 8.0, 12.0, 16.0]
    assert y.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_c08_an_interior_tensor_has_its_gradient_where_it_was_asked_to_retain_it():
    x, y, z = document()
    w = x + y
    v = x * 1
    w.retain_grads()
    w.register_hook(lambda grad: grad * 2)
    (z.matmul(w) + v.sum()).backward()
    assert w.grad.tolist() == [1.0, 2.0, 3.0, 4.0]  # as the document has it
    assert v.grad is None

import os
import threading

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import NameClashError, UnknownOpError
from opsdk.define.op import REGISTRY, find_op

HALF = "@opsdk.op\ndef half(x):\n    return x / 2\n"
HALF_GRAD = "@half.backward\ndef half_grad(dy):\n    return dy / 2\n"
THIRD = HALF.replace("/ 2", "/ 3")


def test_the_same_text_again_changes_nothing(run_file, capsys):
    scope = run_file("my_ops/half.py", HALF + HALF_GRAD)
    half, opdef = scope["half"], scope["half"].opdef
    run_file("my_ops/half.py", HALF, scope=scope)
    assert scope["half"] is half
    assert half.opdef is opdef
    assert capsys.readouterr().err == ""


def test_the_same_text_from_another_file_changes_nothing(run_file, capsys):
    half = run_file("my_ops/half.py", HALF)["half"]
    opdef = half.opdef
    assert run_file("my_ops/copy.py", HALF)["half"] is half
    assert half.opdef is opdef
    assert capsys.readouterr().err == ""


HELPED = "def by(x):\n    return x / 2\n@opsdk.op\ndef half(x):\n    return by(x)\n"


def test_a_file_that_runs_again_keeps_what_the_op_was_given(run_file, capsys):
    first = run_file("my_ops/half.py", HELPED + HALF_GRAD)["half"]
    first.kernel("cpu", lambda x: x / 2, language="numba", dtype="float32")
    scope = run_file("my_ops/half.py", HELPED)
    half = scope["half"]
    assert half.grad is first.grad
    assert sorted(row.language for row in half.opdef.kernels) == ["numba", "numpy"]
    assert capsys.readouterr().err == ""
    scope["by"] = lambda x: x / 4  # what the file that ran last says later counts for its own op
    assert [half(np.array([8.0])).item(), first(np.array([8.0])).item()] == [2.0, 4.0]


def test_a_file_that_runs_again_with_another_helper_makes_another_op(run_file, capsys):
    first = run_file("my_ops/half.py", HELPED + HALF_GRAD)["half"]
    first.kernel("cpu", lambda x: x / 2, language="numba", dtype="float64")
    half = run_file("my_ops/half.py", HELPED.replace("/ 2", "/ 4"))["half"]
    assert [half(np.array([8.0])).item(), first(np.array([8.0])).item()] == [2.0, 4.0]
    assert [half.grad is None, first.grad is None] == [True, False]
    assert [row.language for row in half.opdef.kernels] == ["numpy"]
    assert "my_ops::half redefined" in capsys.readouterr().err


def test_a_changed_text_from_the_same_file_takes_the_name_with_one_line_on_standard_error(run_file, capsys):
    old = run_file("my_ops/half.py", HALF + HALF_GRAD)["half"]
    new = run_file("my_ops/half.py", "\n\n" + THIRD)["half"]
    assert find_op("my_ops::half") is new
    assert new(np.array([6.0])).tolist() == [2.0]
    assert new.grad is None
    captured = capsys.readouterr()
    assert captured.err == f"my_ops::half redefined (my_ops{os.sep}half.py:3 over my_ops{os.sep}half.py:1)\n"
    assert captured.out == ""
    assert old(np.array([6.0])).tolist() == [3.0]
    assert old.grad is not None


@pytest.mark.parametrize(
    "cell", ["<ipython-input-{}-ab>", "<stdin-{}>", f"{os.sep}tmp{os.sep}ipykernel_3{os.sep}{{}}.py"]
)
def test_a_cell_of_a_notebook_that_was_changed_replaces(run_file, capsys, cell):
    run_file(cell.format(1), HALF, module="__main__")
    half = run_file(cell.format(2), THIRD, module="__main__")["half"]
    assert half(np.array([6.0])).tolist() == [2.0]
    assert "half redefined" in capsys.readouterr().err


def test_another_definition_from_another_file_is_refused_with_both_places(run_file):
    half = run_file("my_ops/half.py", HALF)["half"]
    with pytest.raises(NameClashError) as caught:
        run_file("my_ops/other.py", "\n" + THIRD)
    assert str(caught.value) == (
        "op 'my_ops::half@1': registered by my_ops/half.py:1, got another definition from my_ops/other.py:2; "
        "rename it or pass replace=True"
    )
    assert half(np.array([6.0])).tolist() == [3.0]


CLASHES = {
    "code": (THIRD, "the code of the forward (my_ops/half.py, my_ops/other.py)"),
    "schema": (
        HALF.replace("(x)", "(x, w)"),
        "schema (my_ops::half@1(Tensor x) -> Tensor y → my_ops::half@1(Tensor x, Tensor w) -> Tensor y)",
    ),
    "traits": (HALF.replace("op\n", "op(linear=True)\n"), "declared traits"),
    "domain": (HALF.replace("op\n", "op(domain={'x': (0, None)})\n"), "declared traits"),
    "rule": (HALF.replace("op\n", "op(infer=opsdk.infer.broadcast)\n"), "the infer rule"),
}


@pytest.mark.parametrize(("text", "difference"), CLASHES.values(), ids=CLASHES)
def test_a_clash_says_what_the_two_definitions_differ_in(run_file, text, difference):
    run_file("my_ops/half.py", HALF)
    with pytest.raises(NameClashError) as caught:
        run_file("my_ops/other.py", text)
    assert f"  because  they differ in: {difference}" in caught.value.__notes__


def test_replace_takes_the_name_from_another_file(run_file, capsys):
    old = run_file("my_ops/half.py", HALF)["half"]
    new = run_file("my_ops/other.py", THIRD.replace("op\n", "op(replace=True)\n"))["half"]
    assert find_op("half") is new
    assert [op(np.array([6.0])).item() for op in (old, new)] == [3.0, 2.0]
    assert capsys.readouterr().err == ""


def test_a_gradient_op_takes_no_name_of_another_op_silently(run_file, capsys):
    run_file("my_ops/half.py", THIRD.replace("def half", "def half_grad") + HALF + HALF_GRAD)
    assert "my_ops::half_grad redefined" in capsys.readouterr().err


def test_a_gradient_op_that_takes_the_name_of_an_op_from_another_file_is_refused(run_file):
    run_file("my_ops/other.py", THIRD.replace("def half", "def half_grad"))
    half = run_file("my_ops/half.py", HALF)["half"]
    with pytest.raises(NameClashError, match=r"registered by .*other.py:1, got another definition from"):
        run_file("my_ops/half.py", HALF_GRAD, scope={"half": half, "__name__": "my_ops"})
    assert half.grad is None


def test_a_graph_that_exists_keeps_the_op_that_it_was_built_with(run_file, capsys):
    old = run_file("my_ops/half.py", HALF + HALF_GRAD)["half"]
    x = opsdk.to_tensor([6.0], stop_gradient=False)
    y = old(x)
    new = run_file("my_ops/half.py", THIRD + HALF_GRAD.replace("/ 2", "/ 3"))["half"]
    y.sum().backward()
    assert x.grad.numpy().tolist() == [0.5]
    assert [op(x).numpy().item() for op in (old, new)] == [3.0, 2.0]
    capsys.readouterr()


def test_a_full_name_is_found_with_and_without_its_version(run_file):
    half = run_file("my_ops/half.py", HALF)["half"]
    assert find_op("my_ops::half") is half
    assert find_op("my_ops::half@1") is half


def test_a_bare_name_that_is_unique_is_found(run_file):
    half = run_file("my_ops/half.py", HALF)["half"]
    assert find_op("half") is half


def test_a_bare_name_means_the_built_in_op_where_there_is_one(run_file):
    run_file("my_ops/relu.py", "@opsdk.op\ndef relu(x):\n    return x\n")
    assert find_op("relu").opdef.name == "opsdk::relu"


def test_a_bare_name_that_fits_several_ops_is_refused(run_file):
    run_file("a.py", HALF, module="a")
    run_file("b.py", THIRD, module="b")
    with pytest.raises(UnknownOpError, match=r"^op 'half': expected a name that fits one op, it fits a::half, b::half"):
        find_op("half")


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(UnknownOpError) as caught:
        find_op("opsdk::rleu")
    assert str(caught.value).startswith("op 'opsdk::rleu': not registered; registered: opsdk::relu, ")
    assert str(caught.value).endswith(" more; correct the name, or import what defines it")


def test_another_version_is_refused_with_the_one_there_is(run_file):
    run_file("my_ops/half.py", HALF)
    with pytest.raises(UnknownOpError) as caught:
        find_op("my_ops::half@2")
    assert str(caught.value) == (
        f"op 'my_ops::half@2': expected version 2, registered is 'my_ops::half@1', defined at my_ops{os.sep}half.py:1"
    )


def test_a_scope_brings_back_the_definition_that_lost_its_name_inside_it(run_file, capsys):
    half = run_file("my_ops/half.py", HALF + HALF_GRAD)["half"]
    with REGISTRY.scoped():
        run_file("my_ops/half.py", THIRD)
        assert find_op("half") is not half
        with pytest.raises(UnknownOpError, match="half_grad"):
            find_op("half_grad")
    assert find_op("half") is half
    assert find_op("half_grad") is half.grad
    capsys.readouterr()


def test_a_scope_takes_back_a_row_that_was_added_inside_it(run_file):
    half = run_file("my_ops/half.py", HALF)["half"]
    with REGISTRY.scoped():
        half.kernel("cpu", lambda x: x / 6, language="numpy", replace=True)
        assert half(np.array([6.0])).tolist() == [1.0]
    assert half(np.array([6.0])).tolist() == [3.0]


def test_eight_threads_that_register_lose_no_op():
    def work(number):
        for i in range(10):
            opsdk.op(lambda x: x, name=f"op{number}_{i}", namespace="threads")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(name.startswith("threads::") for name in REGISTRY.names()) == 80


def test_whether_a_name_is_free_is_asked_and_answered_under_the_lock(monkeypatch):
    held = []
    admit = REGISTRY.admit
    monkeypatch.setattr(REGISTRY, "admit", lambda *a, **k: held.append(REGISTRY.lock._is_owned()) or admit(*a, **k))
    opsdk.op(lambda x: x, name="f", namespace="t").backward(lambda dy: dy)
    assert held == [True, True]


def test_eight_threads_that_register_the_same_op_get_one():
    def f(x):
        return x

    found = []
    threads = [threading.Thread(target=lambda: found.append(opsdk.op(f, namespace="threads"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1

import json

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InputValueError, ProgramError
from opsdk.define.op import find_op
from opsdk.static.files import written
from tests.static.files.conftest import read, text_of


def runs(exe, program, startup, feed, names):
    """Gives what three steps of a Program fetch, each time from the same start."""
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        return [[a.tobytes() for a in exe.run(program, feed=feed, fetch_list=names)] for _ in range(3)]


def test_a_program_that_trains_comes_back_and_does_the_same_to_the_bit(exe, main, startup, trained):
    feed = {"x": np.ones((5, 4), "float32"), "label": np.zeros((5, 1), "int64")}
    names = [trained.name, "fc_0.w_0"]
    copies = read(text_of(main)), read(text_of(startup))
    expected = runs(exe, main, startup, feed, names)
    assert len({str(step) for step in expected}) == 3
    assert runs(exe, *copies, feed, names) == expected


def test_the_text_of_what_was_read_is_the_text(main, trained):
    text = text_of(main)
    assert text_of(read(text)) == text
    assert str(read(text)) == str(main)


def test_the_text_says_a_line_for_a_variable_and_an_operator(main):
    opsdk.relu(static.data("x", [None, 2], "float32"))
    text = text_of(main)
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    assert text.startswith('{\n "opsdk.program": 1,\n "packages": {},\n')
    assert (
        '{"name": "x", "dtype": "float32", "shape": [-1, 2], "data": true, "stop_gradient": true, "cut": true}' in lines
    )
    (operator,) = [json.loads(line) for line in lines if line.startswith('{"op"')]
    assert operator["op"] == "opsdk::relu@1"
    assert (operator["in"], operator["out"]) == ({"x": ["x"]}, {"out": ["relu_0.tmp_0"]})
    assert operator["at"].rpartition(":")[0].endswith("test_written.py")


def test_a_gradient_to_the_second_order_comes_back(exe, main):
    x = static.data("x", [3], "float32")
    x.stop_gradient = False
    (first,) = static.gradients((x * x * x).sum(), x)
    (second,) = static.gradients(first.sum(), x)
    copy = read(text_of(main))
    feed = {"x": np.float32([1, 2, -3])}
    found = exe.run(copy, feed=feed, fetch_list=[first.name, second.name])
    assert [value.tolist() for value in found] == [[3.0, 12.0, 27.0], [6.0, 12.0, -18.0]]


def test_a_test_is_cloned_of_what_was_read_as_of_the_original(exe, main, trained):
    copy = read(text_of(main)).clone(for_test=True)
    assert str(copy) == str(main.clone(for_test=True))


def test_a_check_in_front_of_a_composite_comes_back(exe, main):
    @opsdk.op("mine::root(Tensor x) -> Tensor y", composite=True)
    def root(x):
        return opsdk.sqrt(x)

    @root.check
    def positive(x):
        return "x expected positive, got a negative" if (x < 0).any() else None

    y = root(static.data("x", [None], "float32"))
    text = text_of(main)
    assert '"check": true' in text
    copy = read(text)
    assert text_of(copy) == text
    (found,) = exe.run(copy, feed={"x": np.float32([4.0])}, fetch_list=[y.name])
    assert found.tolist() == [2.0]
    with pytest.raises(InputValueError, match="x expected positive, got a negative"):
        exe.run(copy, feed={"x": np.float32([-4.0])}, fetch_list=[y.name])


def test_packages_name_who_provides_an_op():
    main = static.Program()
    with static.program_guard(main):
        find_op("contrib::rms_norm")(static.data("x", [2, 3], "float32"), static.data("w", [3], "float32"))
    ((namespace, owner),) = written.packages_of(main).items()
    assert namespace == "contrib"
    assert owner.startswith(("opsdk", "contrib_ops"))


def test_a_regularizer_that_is_no_number_is_refused(main):
    weight = static.create_parameter([2], "float32")
    weight.regularizer = 0.5
    assert read(text_of(main)).all_parameters()[0].regularizer == 0.5
    weight.regularizer = object()
    with pytest.raises(ProgramError, match=r"save: parameter '.*' expected a regularizer that is a number or a decay"):
        text_of(main)


def test_a_py_func_is_refused_with_its_line(main, block):
    x = static.data("x", [2], "float32")
    static.py_func(np.sin, x, block.create_var("y", [2], "float32"))
    with pytest.raises(ProgramError, match="operator 'py_func' of 'sin' expected a registered op") as caught:
        text_of(main)
    assert any("test_written.py:" in note for note in caught.value.__notes__)


def test_an_op_that_lost_its_name_is_refused(main):
    @opsdk.op("mine::f(Tensor x) -> Tensor y")
    def f(x):
        return x + 1

    f(static.data("x", [2], "float32"))

    @opsdk.op("mine::f(Tensor x) -> Tensor y", replace=True)
    def g(x):
        return x + 2

    with pytest.raises(ProgramError, match=r"operator 'f' expected an op that is found by its name 'mine::f' where"):
        text_of(main)

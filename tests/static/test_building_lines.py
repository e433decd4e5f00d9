import gc
import weakref

import pytest

import opsdk
from opsdk import static


def types(program):
    return [operator.type for operator in program.global_block().ops]


DATA = ["X"]
FC = [*DATA, "fc_0.w_0", "fc_0.tmp_0", "fc_0.b_0", "fc_0.tmp_1"]
MEAN = [*FC, "mean_0.tmp_0"]
GRADIENTS = [f"{name}@GRAD" for name in ("mean_0.tmp_0", "fc_0.tmp_1", "fc_0.tmp_0", "fc_0.b_0", "fc_0.w_0")]
FORWARD_OPS = ["mul", "elementwise_add", "reduce_mean"]
BACKWARD_OPS = ["fill_constant", "reduce_mean_grad", "elementwise_add_grad", "mul_grad"]
LINES = {
    "data": ((DATA, []), ([], [])),
    "fc": ((FC, FORWARD_OPS[:2]), (["fc_0.w_0", "fc_0.b_0"], ["uniform_random", "fill_constant"])),
    "mean": ((MEAN, FORWARD_OPS), (["fc_0.w_0", "fc_0.b_0"], ["uniform_random", "fill_constant"])),
    "minimize": (
        ([*MEAN, *GRADIENTS, "learning_rate_0"], [*FORWARD_OPS, *BACKWARD_OPS, "sgd", "sgd"]),
        (["fc_0.w_0", "fc_0.b_0", "learning_rate_0"], ["uniform_random", "fill_constant", "fill_constant"]),
    ),
}


def build(last):
    """Writes the sample's lines up to one of them; gives what the last one returned."""
    made = static.data("X", [None, 1], "float32")
    if last == "data":
        return made
    made = static.nn.fc(made, 10)
    if last == "fc":
        return made
    made = opsdk.mean(made)
    return made if last == "mean" else opsdk.optimizer.SGD(learning_rate=0.01).minimize(made)


@pytest.mark.parametrize("line", LINES)
def test_a_building_line_inserts_these_into_the_main_program(main, line):
    build(line)
    assert (list(main.global_block().vars), types(main)) == LINES[line][0]


@pytest.mark.parametrize("line", LINES)
def test_a_building_line_inserts_these_into_the_startup_program(startup, line):
    build(line)
    assert (list(startup.global_block().vars), types(startup)) == LINES[line][1]


def test_only_parameters_and_the_learning_rate_are_persistable(main):
    build("minimize")
    assert [v.name for v in main.list_vars() if v.persistable] == ["fc_0.w_0", "fc_0.b_0", "learning_rate_0"]


def test_the_mean_is_0_d():
    assert build("mean").shape == ()


def test_minimize_returns_the_updates(main):
    updates, _ = build("minimize")
    assert updates == main.global_block().ops[-2:]


def test_minimize_returns_parameters_with_their_gradients():
    _, pairs = build("minimize")
    assert [(param.name, grad.name) for param, grad in pairs] == [
        ("fc_0.w_0", "fc_0.w_0@GRAD"),
        ("fc_0.b_0", "fc_0.b_0@GRAD"),
    ]


def test_every_operator_says_which_part_it_plays(main):
    build("minimize")
    roles = [operator.role for operator in main.global_block().ops]
    assert roles == ["forward"] * 3 + ["backward"] * 4 + ["optimize"] * 2


def test_a_network_for_images_has_these_operators(main):
    image = static.data("image", [None, 3, 224, 224], "float32")
    label = static.data("label", [None, 1], "int64")
    opsdk.mean(opsdk.find_op("softmax_with_cross_entropy")(static.nn.fc(image, 1000), label)[1])
    assert types(main) == ["mul", "elementwise_add", "softmax_with_cross_entropy", "reduce_mean"]


def test_a_program_that_nothing_holds_is_freed():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        build("minimize")
    alive = weakref.ref(program)
    del program
    gc.collect()
    assert alive() is None

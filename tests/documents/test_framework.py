"""Document 003, of Programs and ops in Python, with `opsdk.fluid` for its `paddle.fluid`."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk import fluid, static
from opsdk.core.names import name_guard
from tests.documents.extracted import lines_of

ROWS, TESTS = 1024, 272  # of the data in the place of MNIST: four batches to train, one and 16 rows to test
EDITS = [
    ("import paddle.fluid as fluid", ""),  # the import
    ("paddle.dataset.mnist", "digits"),  # the data
]


def digits():
    """What stands for `paddle.dataset.mnist`: readers of rows of ten classes, each with a place where it is bright."""
    rng = np.random.default_rng(0)
    bright = rng.normal(size=(10, 784)).astype(np.float32)

    def reader(count, seed):
        drawn = np.random.default_rng(seed)
        labels = drawn.integers(0, 10, count)
        images = bright[labels] + drawn.normal(size=(count, 784)).astype(np.float32)
        return lambda: iter(zip(images, labels.tolist(), strict=True))

    return SimpleNamespace(train=lambda: reader(ROWS, 1), test=lambda: reader(TESTS, 2))


def between(lines, first, last, which=0):
    """The lines of the document from one to another, the last one included."""
    start = [place for place, line in enumerate(lines) if line.startswith(first)][which]
    stop = next(place for place in range(start, len(lines)) if lines[place].startswith(last))
    text = "\n".join(lines[start : stop + 1])
    for old, new in EDITS:
        text = text.replace(old, new)
    return text


@pytest.fixture
def run():
    """Runs parts of the document; gives the names that they leave."""

    def run(*parts, **names):
        names |= {"fluid": fluid, "paddle": opsdk, "np": np, "digits": digits()}
        with name_guard(), static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
            for text in parts:
                exec(text, names)
            return {**names, "main": static.default_main_program(), "startup": static.default_startup_program()}

    return run


def kinds(program):
    return [operator.type for operator in program.global_block().ops]


def test_d04_each_line_puts_variables_and_operators_into_both_programs(run):
    names = run(between(lines_of("003"), "data = fluid.data(name='X'", "sgd_opt = "), batch_size=4)
    main, startup = names["main"], names["startup"]
    assert kinds(main)[:3] == ["mul", "elementwise_add", "reduce_mean"]
    assert kinds(main)[-2:] == ["sgd", "sgd"]
    assert {"fc_0.w_0", "fc_0.b_0"} <= set(startup.global_block().vars) <= set(main.global_block().vars)
    assert "X" not in startup.global_block().vars


def test_d14_its_calls_give_its_operators(run):
    text = between(lines_of("003"), "image = fluid.data(shape", "mean_loss = ")
    text = text.replace("softmax_with_cross_entroy", "softmax_with_cross_entropy")  # ERR
    names = run(text)
    assert kinds(names["main"]) == ["mul", "elementwise_add", "softmax_with_cross_entropy", "reduce_mean"]


def program(lines):
    """The parts of the whole program: functions, readers, training."""
    end = '        print("\\nEpoch:{}, Test Done!'
    return [
        between(lines, "#第一步", "    return prediction"),
        between(lines, "# 设置数据读取器", "test_reader = "),
        between(lines, "# 定义program", end),
    ]


def test_d24_the_whole_program_trains_and_prints_as_it_does_there(run, capsys):
    opsdk.seed(0)
    run(*program(lines_of("003")))
    printed = capsys.readouterr().out
    losses = [
        float(found) for found in re.findall(r"^iter \[0\]/\[234\], loss:([\d.]+), acc:[\d.]+$", printed, re.MULTILINE)
    ]
    accuracies = [
        float(found) for found in re.findall(r"Epoch:\d, Test Done!, The accuracy is :([\d.]+) $", printed, re.M)
    ]
    assert len(losses) == len(accuracies) == 5
    assert losses[-1] < losses[0]
    assert accuracies[-1] > 0.9 > 0.6 > accuracies[0]


def test_d28_with_the_own_relu_in_place_of_it_the_numbers_are_the_same(run, capsys):
    functions, *rest = program(lines_of("003"))
    call = functions[functions.index("    x = fluid.layers.py_func(") : functions.index("    prediction")]
    printed = []
    for text in (functions, functions.replace(call, "    x = fluid.layers.relu(x)\n")):
        opsdk.seed(0)
        run(text, *[part.replace("EPOCHS = 5", "EPOCHS = 2") for part in rest])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_f01_the_names_of_1x_are_there_and_mean_what_they_meant(run):
    names = run(*program(lines_of("003"))[:1])
    assert names["fluid"].layers.cross_entropy is fluid.layers.cross_entropy
    with static.program_guard(static.Program(), static.Program()):
        p, label = fluid.data("p", [2, 2]), fluid.data("label", [2, 1], "int64")
        rows = fluid.layers.cross_entropy(p, label)  # of probabilities
        feed = {"p": np.array([[0.25, 0.75], [0.5, 0.5]], np.float32), "label": np.array([[1], [0]])}
        (got,) = fluid.Executor(fluid.CPUPlace()).run(static.default_main_program(), feed, [rows])
    np.testing.assert_allclose(got, [[-np.log(0.75)], [-np.log(0.5)]], rtol=1e-6)
    assert fluid.declarative is opsdk.jit.to_static

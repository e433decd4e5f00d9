"""What a Program draws differs from run to run, and is the same again in a new Scope."""

import numpy as np
import pytest

import opsdk
from opsdk import static

ROWS = np.ones((4, 50), np.float32)


@pytest.fixture
def noise(block):
    """Appends a draw of random numbers."""

    def append(name="noise", seed=5, op="gaussian_random"):
        variable = block.create_var(name, [4], "float32")
        block.append_op(op, {}, {"out": variable}, {"shape": [4], "seed": seed})
        return variable

    return append


@pytest.fixture
def dropout():
    """Sets elements to 0 at random; the backward draws the mask once more."""

    @opsdk.op("test_ops::dropout(Tensor x, *, float p=0.5, int seed) -> Tensor y")
    def dropout(x, *, p, seed):
        return x * (np.random.default_rng(seed).random(x.shape) >= p)

    @dropout.backward
    def dropout_grad(dy, p, seed):
        return dy * (np.random.default_rng(seed).random(dy.shape) >= p)

    return dropout


def runs(exe, count, fetch, **options):
    return [exe.run(fetch_list=[fetch], **options)[0] for _ in range(count)]


@pytest.mark.parametrize("op", ["gaussian_random", "uniform_random"])
def test_no_two_runs_draw_the_same(exe, noise, op):
    found = runs(exe, 20, noise(op=op))
    assert len({array.tobytes() for array in found}) == 20


def test_the_first_run_draws_what_the_seed_says(exe, noise):
    found = runs(exe, 1, noise(seed=5))[0]
    np.testing.assert_array_equal(found, np.random.default_rng(5).normal(0.0, 1.0, (4,)).astype(np.float32))


def test_a_new_scope_starts_over(exe, noise):
    variable = noise()
    first, again = (runs(exe, 5, variable, scope=static.Scope()) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_scope_that_is_set_back_goes_on_from_there(exe, noise):
    variable = noise()
    found = runs(exe, 5, variable)
    static.global_scope().find_var("@RANDOM_COUNTER@").get_tensor().set(2)
    np.testing.assert_array_equal(runs(exe, 2, variable), found[2:4])


def test_a_new_executor_goes_on(noise):
    variable = noise()
    found = [static.Executor().run(fetch_list=[variable])[0] for _ in range(3)]
    assert len({array.tobytes() for array in found}) == 3


def test_what_is_drawn_does_not_depend_on_what_is_fetched(exe, noise):
    variable = noise()
    doubled = variable * 2.0
    first = runs(exe, 3, variable, scope=static.Scope())
    scope = static.Scope()
    found = [exe.run(fetch_list=fetches, scope=scope) for fetches in ([doubled], [doubled, variable], [variable])]
    np.testing.assert_array_equal(found[1][1], first[1])
    np.testing.assert_array_equal(found[2][0], first[2])


@pytest.mark.parametrize("program_seed", [0, 11])
def test_a_gradient_draws_the_mask_of_its_own_run(exe, main, dropout, program_seed):
    main.random_seed = program_seed
    x = static.data("x", [None, 50], "float32")
    x.stop_gradient = False
    y = dropout(dropout(x, p=0.2, seed=3), p=0.5, seed=4)
    (dx,) = static.gradients(y, [x])
    masks = set()
    for _ in range(4):
        value, gradient = exe.run(feed={"x": ROWS}, fetch_list=[y, dx])
        np.testing.assert_array_equal(value, gradient)
        assert 0 < value.sum() < value.size
        masks.add(value.tobytes())
    assert len(masks) == 4


def test_two_draws_of_different_seeds_never_agree(exe, noise):
    pair = [noise("a", 5), noise("b", 6)]
    found = [array.tobytes() for _ in range(10) for array in exe.run(fetch_list=pair)]
    assert len(set(found)) == 20


def test_draws_of_one_seed_agree_in_every_run(exe, main, noise):
    pair = [noise("a", 5), noise("b", 5)]
    for seed in (0, 11):
        main.random_seed = seed
        for _ in range(3):
            first, second = exe.run(fetch_list=pair)
            np.testing.assert_array_equal(first, second)


def test_the_random_seed_of_a_program_decides_every_run(exe, main, noise):
    variable = noise()
    found = {}
    for seed in (3, 4, 3):
        main.random_seed = seed
        array = np.array(runs(exe, 3, variable, scope=static.Scope()))
        assert np.array_equal(found.setdefault(seed, array), array)
        assert len({row.tobytes() for row in array}) == 3
    assert not np.array_equal(found[3], found[4])


@pytest.mark.parametrize("seed", [0, 7])
def test_a_startup_program_gives_parameters_the_same_values_each_time(exe, startup, seed):
    startup.random_seed = seed
    weight = static.create_parameter([3, 4])
    found = []
    for _ in range(3):
        exe.run(startup)
        found.append(np.array(static.global_scope().find_var(weight.name).get_tensor()))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_initialisation_leaves_the_counter_of_the_scope_alone(exe, startup, main, noise):
    static.create_parameter([3, 4])
    variable = noise()
    exe.run(startup)
    first = runs(exe, 1, variable)[0]
    np.testing.assert_array_equal(first, runs(exe, 1, variable, scope=static.Scope())[0])


def test_a_clone_draws_as_its_original(exe, main, noise):
    variable = noise()
    found = [runs(exe, 3, variable, program=program, scope=static.Scope()) for program in (main, main.clone())]
    np.testing.assert_array_equal(found[0], found[1])


def test_one_global_seed_gives_both_runtimes_the_same_numbers(exe, startup):
    opsdk.seed(3)
    layers = [opsdk.nn.Linear(3, 2), opsdk.nn.Linear(2, 4)]
    opsdk.seed(3)
    static.nn.fc(static.nn.fc(static.data("x", [None, 3]), 2), 4)
    made = exe.run(startup, fetch_list=["fc_0.w_0", "fc_1.w_0"])
    for layer, weight in zip(layers, made, strict=True):
        np.testing.assert_array_equal(layer.weight.numpy(), weight)


def dropped(x, seed, is_trained):
    return x * (np.random.default_rng(seed).random(x.shape) >= 0.5) if is_trained else x.copy()


# by how the attribute says it: an op as its author writes it
MODES = {
    "bool is_test=False": lambda x, *, seed, is_test: dropped(x, seed, not is_test),
    "bool training=True": lambda x, *, seed, training: dropped(x, seed, training),
    "bool train_mode=True": lambda x, *, seed, train_mode: dropped(x, seed, train_mode),
}


@pytest.mark.parametrize("mode", MODES)
def test_an_evaluation_in_between_leaves_what_training_draws_as_it_is(exe, main, mode):
    drops = opsdk.op(f"test_ops::drops(Tensor x, *, int seed, {mode}) -> Tensor y")(MODES[mode])
    x = static.data("x", ROWS.shape, "float32")
    y = drops(x, seed=3)
    test = main.clone(for_test=True)
    plain, between = static.Scope(), static.Scope()
    expected = [exe.run(main, {"x": ROWS}, [y], scope=plain)[0] for _ in range(3)]
    found = []
    for _ in range(3):
        found += exe.run(main, {"x": ROWS}, [y], scope=between)
        np.testing.assert_array_equal(exe.run(test, {"x": ROWS}, [y.name], scope=between)[0], ROWS)
    np.testing.assert_array_equal(found, expected)
    assert int(between.values["@RANDOM_COUNTER@"]) == 3


def test_an_evaluation_alone_writes_no_counter(exe, main):
    @opsdk.op("test_ops::kept(Tensor x, *, int seed, bool is_test=False) -> Tensor y")
    def kept(x, *, seed, is_test):
        return x.copy()

    y = kept(static.data("x", ROWS.shape, "float32"), seed=3)
    scope = static.Scope()
    exe.run(main.clone(for_test=True), {"x": ROWS}, [y.name], scope=scope)
    assert scope.values.get("@RANDOM_COUNTER@") is None


def test_an_op_that_draws_when_it_is_tested_too_draws_as_the_counter_stands(exe, main, noise):
    @opsdk.op("test_ops::always(Tensor x, *, int seed, bool is_test=False) -> Tensor y")
    def always(x, *, seed, is_test):
        return x * np.random.default_rng(seed).random(x.shape, x.dtype)

    y = always(static.data("x", ROWS.shape, "float32"), seed=3)
    test, scope = main.clone(for_test=True), static.Scope()
    found = []
    for _ in range(2):
        exe.run(main, {"x": ROWS}, [y], scope=scope)
        found += exe.run(test, {"x": ROWS}, [y.name], scope=scope)
    assert not np.array_equal(*found)

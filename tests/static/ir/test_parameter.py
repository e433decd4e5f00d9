import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ProgramError, ShapeError

Constant = opsdk.nn.initializer.Constant


def value_of(exe, startup, variable):
    exe.run(startup)
    return np.array(static.global_scope().find_var(variable.name).get_tensor())


def test_a_parameter_appears_in_both_programs(main, startup):
    static.create_parameter([2], "float32", name="w")
    assert (list(main.global_block().vars), list(startup.global_block().vars)) == (["w"], ["w"])


def test_a_parameter_without_a_name_gets_one():
    assert static.create_parameter([2]).name == "create_parameter_0.w_0"


def test_a_name_that_is_made_is_not_taken(block):
    block.create_var("create_parameter_0.w_0", [2], "float32")
    assert static.create_parameter([2]).name == "create_parameter_0.w_0_1"


def test_a_weight_starts_with_xavier_uniform_values(exe, startup):
    values = value_of(exe, startup, static.create_parameter([200, 100]))
    limit = np.sqrt(6 / 300)
    assert (np.abs(values).max() <= limit, np.abs(values).max() > 0.95 * limit) == (True, True)


def test_a_bias_starts_at_zero(exe, startup):
    np.testing.assert_array_equal(value_of(exe, startup, static.create_parameter([3], is_bias=True)), np.zeros(3))


def test_a_default_initializer_decides_where_the_attribute_says_nothing(exe, startup):
    made = static.create_parameter([2], default_initializer=Constant(3.0))
    np.testing.assert_array_equal(value_of(exe, startup, made), [3.0, 3.0])


def test_the_attributes_initializer_comes_first(exe, startup):
    made = static.create_parameter(
        [2], attr=static.ParamAttr(initializer=Constant(5.0)), default_initializer=Constant(3.0)
    )
    np.testing.assert_array_equal(value_of(exe, startup, made), [5.0, 5.0])


def test_an_initializer_alone_may_stand_for_the_attribute(exe, startup):
    np.testing.assert_array_equal(value_of(exe, startup, static.create_parameter([1], attr=Constant(5.0))), [5.0])


def test_a_name_alone_may_stand_for_the_attribute():
    assert static.create_parameter([1], attr="w").name == "w"


def test_the_attributes_name_comes_first():
    assert static.create_parameter([1], name="v", attr=static.ParamAttr(name="w")).name == "w"


def test_the_attribute_reaches_the_parameter():
    attr = static.ParamAttr(learning_rate=0.5, regularizer=0.1, trainable=False, need_clip=False)
    made = static.create_parameter([1], attr=attr)
    found = made.optimize_attr["learning_rate"], made.regularizer, made.trainable, made.need_clip
    assert found == (0.5, 0.1, False, False)


def test_an_attribute_of_another_kind_is_refused():
    with pytest.raises(AttributeValueError, match="create_parameter: attr: expected a ParamAttr"):
        static.create_parameter([1], attr=3)


def test_false_for_an_attribute_is_refused():
    with pytest.raises(ProgramError, match="create_parameter: attr expected a parameter to be wanted, got False"):
        static.create_parameter([1], attr=False)


def test_a_parameter_that_exists_is_shared_and_initialised_once(startup):
    first = static.create_parameter([2], name="w")
    assert static.create_parameter([2], name="w") is first
    assert len(startup.global_block().ops) == 1


def test_a_parameter_that_exists_with_another_shape_is_refused():
    static.create_parameter([2], name="w")
    with pytest.raises(ProgramError, match="variable 'w': expected float32"):
        static.create_parameter([3], name="w")


SAYING = {
    "initializer": Constant(2.0),
    "regularizer": opsdk.optimizer.L2Decay(0.5),
    "learning_rate": 0.5,
    "trainable": False,
    "need_clip": False,
}


@pytest.mark.parametrize("name", SAYING)
def test_who_shares_a_parameter_may_repeat_what_was_said_of_it_or_say_nothing(name):
    def attr(value):
        return opsdk.nn.ParamAttr(name="w", **{name: value})

    again = Constant(2.0) if name == "initializer" else SAYING[name]
    first = static.create_parameter([2], attr=attr(SAYING[name]))
    assert static.create_parameter([2], attr=attr(again)) is first
    assert static.create_parameter([2], attr="w") is first


@pytest.mark.parametrize("name", SAYING)
def test_who_shares_a_parameter_and_says_something_else_of_it_is_refused(name, main, startup, state):
    static.create_parameter([2], attr="w")
    before = state(main), state(startup)
    with pytest.raises(ProgramError, match=f"parameter 'w': {name} expected .*; give both the same ParamAttr, or two"):
        static.create_parameter([2], attr=opsdk.nn.ParamAttr(name="w", **{name: SAYING[name]}))
    assert (state(main), state(startup)) == before


def test_a_clone_knows_what_was_said_of_its_parameters(main):
    static.create_parameter([2], attr=opsdk.nn.ParamAttr(name="w", initializer=Constant(2.0)))
    with static.program_guard(main.clone()):
        static.create_parameter([2], attr=opsdk.nn.ParamAttr(name="w", initializer=Constant(2.0)))
        with pytest.raises(ProgramError, match="initializer expected Constant"):
            static.create_parameter([2], attr=opsdk.nn.ParamAttr(name="w", initializer=Constant(3.0)))


@pytest.mark.parametrize("make", ["create_parameter", "create_global_var"])
def test_two_programs_that_want_other_first_values_of_one_startup_program_are_refused(startup, make):
    def made(value):
        with static.program_guard(static.Program(), startup):
            if make == "create_global_var":
                return static.create_global_var([2], value, "float32", name="w")
            return static.create_parameter([2], attr=opsdk.nn.ParamAttr(name="w", initializer=Constant(value)))

    made(1.0), made(1.0)
    with pytest.raises(ProgramError, match="variable 'w': expected the first value that another main Program gave it"):
        made(2.0)


def test_two_programs_of_one_startup_program_may_draw_with_other_seeds(startup):
    for _ in range(2):
        with static.program_guard(static.Program(), startup):
            attr = opsdk.nn.ParamAttr(name="w", initializer=opsdk.nn.initializer.Normal(0.0, 2.0))
            static.create_parameter([2], attr=attr)
    assert len(startup.global_block().ops) == 1


def test_two_programs_share_one_startup_program(startup):
    made = []
    for _ in range(2):
        with static.program_guard(static.Program(), startup):
            made.append(static.create_parameter([2], name="w"))
    assert (made[0] is made[1], len(startup.global_block().ops)) == (False, 1)


def test_another_shape_in_the_startup_program_is_refused_and_nothing_is_created(main, startup, state):
    with static.program_guard(static.Program(), startup):
        static.create_parameter([2], name="w")
    before = state(main), state(startup)
    with pytest.raises(ProgramError, match="variable 'w': expected float32"):
        static.create_parameter([3], name="w")
    assert (state(main), state(startup)) == before


def test_an_initializer_that_fails_leaves_both_programs_as_they_were(main, startup, state):
    before = state(main), state(startup)
    with pytest.raises(ShapeError, match="initializer Assign: expected values of shape"):
        static.create_parameter([3], attr=opsdk.nn.initializer.Assign([1.0, 2.0]))
    assert (state(main), state(startup)) == before


def test_a_global_variable_starts_with_its_value(exe, startup):
    made = static.create_global_var([2], 1.5, "float64")
    np.testing.assert_array_equal(value_of(exe, startup, made), np.array([1.5, 1.5]), strict=True)


def test_a_global_variable_is_kept_between_runs_either_way():
    assert static.create_global_var([1], 0.0, "float32", persistable=False).persistable is True


def test_a_global_variable_without_a_name_gets_one():
    assert static.create_global_var([1], 0.0, "float32").name == "global_var_0"


def test_a_global_variable_carries_no_gradient():
    assert static.create_global_var([1], 0.0, "float32").stop_gradient is True


def test_a_global_variable_needs_known_sizes():
    with pytest.raises(ProgramError, match="create_global_var: shape expected known sizes, got"):
        static.create_global_var([-1, 2], 0.0, "float32")


def test_a_global_variable_does_not_take_the_name_of_a_temporary_one(block):
    block.create_var("v", [1], "float32")
    with pytest.raises(ProgramError, match="got that of a temporary variable for a persistable one"):
        static.create_global_var([1], 0.0, "float32", name="v")


HELD = [(2**53 + 1, "int64"), (2**64 - 1, "uint64"), (-(2**63), "int64"), (1 + 2j, "complex64"), (0.1, "float64"),
        (1.5, "int64"), (np.int8(3), "float32"), (True, "bool")]  # fmt: skip


@pytest.mark.parametrize(("value", "dtype"), HELD)
def test_values_reach_the_scope_as_they_were_given(exe, startup, value, dtype):
    wanted = np.array([value]).astype(dtype)
    assign = opsdk.nn.initializer.Assign([value])
    made = [
        static.create_global_var([1], value, dtype),
        static.create_parameter([1], dtype, default_initializer=Constant(value)),
        static.create_parameter([1], dtype, default_initializer=assign),
    ]
    for variable in made:
        np.testing.assert_array_equal(value_of(exe, startup, variable), wanted, strict=True)


UNFIT = [(300, "int8"), (float("nan"), "int64"), (float("inf"), "int32"), (1j, "float32"), (1e300, "float32"),
         (2**70, "int64"), (10**400, "float64")]  # fmt: skip


@pytest.mark.parametrize(("value", "dtype"), UNFIT)
@pytest.mark.parametrize(
    "create",
    [
        lambda value, dtype: static.create_global_var([1], value, dtype),
        lambda value, dtype: static.create_parameter([1], dtype, default_initializer=Constant(value)),
        lambda value, dtype: static.create_parameter(
            [1], dtype, default_initializer=opsdk.nn.initializer.Assign([value])
        ),
    ],
)
def test_values_that_the_dtype_does_not_hold_are_refused_and_nothing_is_created(
    main, startup, state, create, value, dtype
):
    before = state(main), state(startup)
    with pytest.raises(DTypeError, match=r"expected .*numbers? (that|for) "):
        create(value, dtype)
    assert (state(main), state(startup)) == before


def test_a_whole_parameter_is_not_drawn(startup):
    with pytest.raises(InputValueError, match="uniform_random': dtype expected a float, got int64"):
        static.create_parameter([2, 2], "int64")


@pytest.mark.parametrize("value", ["1", None, [1.0]])
def test_a_global_variable_takes_one_number(value):
    with pytest.raises((DTypeError, ShapeError), match="create_global_var, value: expected"):
        static.create_global_var([1], value, "float32")


def test_a_single_size_that_is_open_is_refused():
    for create in (lambda: static.create_global_var(-1, 1.0, "float32"), lambda: static.create_parameter(-1)):
        with pytest.raises(ProgramError, match=r"expected known sizes, got \(-1,\)"):
            create()

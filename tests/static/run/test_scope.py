import asyncio
import threading

import numpy as np
import pytest

from opsdk import static
from opsdk.core.errors import DTypeError, ProgramError, ShapeError


@pytest.fixture
def scope():
    return static.Scope()


def test_a_variable_that_is_not_there_is_none(scope):
    assert scope.find_var("w") is None


def test_a_variable_is_made_when_it_is_asked_for(scope):
    assert scope.var("w").name == scope.find_var("w").name == "w"


def test_a_value_that_was_set_is_read(scope):
    scope.var("w").get_tensor().set([1.0, 2.0])
    np.testing.assert_array_equal(np.array(scope.find_var("w").get_tensor()), [1.0, 2.0])


def test_a_value_is_copied_in(scope):
    array = np.ones(2)
    scope.var("w").get_tensor().set(array)
    array[:] = 5.0
    np.testing.assert_array_equal(np.array(scope.find_var("w").get_tensor()), [1.0, 1.0])


def test_a_value_is_copied_out(scope):
    tensor = scope.var("w").get_tensor()
    tensor.set(np.ones(2))
    np.asarray(tensor)[:] = 5.0
    np.testing.assert_array_equal(np.array(tensor), [1.0, 1.0])


def test_a_value_can_be_read_in_another_dtype(scope):
    tensor = scope.var("w").get_tensor()
    tensor.set(np.ones(2))
    assert np.asarray(tensor, dtype="float32").dtype == np.float32


def test_a_value_that_is_set_again_takes_the_dtype_that_is_there(scope):
    tensor = scope.var("w").get_tensor()
    tensor.set(np.ones(2, np.float32))
    tensor.set([3, 4])
    np.testing.assert_array_equal(np.array(tensor), np.array([3, 4], np.float32), strict=True)


def test_a_value_of_another_shape_is_refused(scope):
    tensor = scope.var("w").get_tensor()
    tensor.set(np.ones(2))
    with pytest.raises(ShapeError, match=r"scope variable 'w': expected shape \(2,\), got \(3,\)"):
        tensor.set(np.ones(3))


def test_what_is_no_number_is_refused(scope):
    with pytest.raises(DTypeError, match="scope variable 'w': expected one of bool"):
        scope.var("w").get_tensor().set("text")


def test_a_value_that_was_never_set_cannot_be_read(scope):
    with pytest.raises(ProgramError, match="scope variable 'w': expected a value, it has none yet"):
        np.array(scope.var("w").get_tensor())


def test_the_shape_is_a_list_as_in_paddle(scope):
    tensor = scope.var("w").get_tensor()
    tensor.set(np.ones((2, 3)))
    assert tensor.shape() == [2, 3]


def test_a_child_sees_its_parents_values(scope):
    scope.var("w").get_tensor().set([1.0])
    assert scope.new_scope().find_var("w") is not None


def test_a_child_keeps_its_own_apart(scope):
    scope.new_scope().var("v").get_tensor().set([1.0])
    assert scope.find_var("v") is None


def test_a_value_set_through_a_child_changes_the_parents(scope):
    scope.var("w").get_tensor().set([1.0])
    scope.new_scope().find_var("w").get_tensor().set([2.0])
    np.testing.assert_array_equal(np.array(scope.find_var("w").get_tensor()), [2.0])


def test_a_run_in_a_child_changes_what_the_parent_holds(exe, startup, scope):
    static.create_global_var([1], 5.0, "float32", name="w")
    scope.var("w").get_tensor().set(np.zeros(1, np.float32))
    child = scope.new_scope()
    exe.run(startup, scope=child)
    assert (float(np.array(scope.find_var("w").get_tensor())[0]), child.local_var_names()) == (5.0, [])


def test_a_run_in_a_child_reads_what_the_parent_holds(exe, startup, scope):
    weight = static.create_global_var([1], 5.0, "float32")
    exe.run(startup, scope=scope)
    (doubled,) = exe.run(fetch_list=[weight * 2.0], scope=scope.new_scope())
    assert doubled[0] == 10.0


def test_children_can_be_dropped(scope):
    scope.new_scope()
    scope.drop_kids()
    assert scope._kids == []


def test_names_are_listed_in_order(scope):
    for name in "cab":
        scope.var(name)
    assert scope.local_var_names() == ["a", "b", "c"]


def test_erased_variables_are_gone(scope):
    for name in "ab":
        scope.var(name).get_tensor().set([1.0])
    scope.erase(["a"])
    assert scope.local_var_names() == ["b"]


def test_the_guard_makes_a_scope_the_global_one(scope):
    with static.scope_guard(scope):
        assert static.global_scope() is scope


def test_after_the_guard_the_former_scope_is_back(scope):
    before = static.global_scope()
    with pytest.raises(KeyError), static.scope_guard(scope):
        raise KeyError
    assert static.global_scope() is before


def test_every_thread_has_its_own_guard(scope):
    found = []
    with static.scope_guard(scope):
        thread = threading.Thread(target=lambda: found.append(static.global_scope()))
        thread.start()
        thread.join()
    assert found[0] is not scope


def test_only_scopes_are_taken():
    with pytest.raises(ProgramError, match="scope_guard: expected a Scope, got dict"), static.scope_guard({}):
        pass


@pytest.mark.parametrize(("value", "text"), [([300, 1], "got 300"), ([1.5, 1], "got 1.5"), ([np.nan, 1], "got nan")])
def test_a_value_that_the_variable_does_not_hold_is_refused(scope, value, text):
    scope.values["w"] = np.array([1, 2], "int8")
    with pytest.raises(DTypeError, match=f"scope variable 'w': expected whole numbers that int8 holds, .*{text}"):
        scope.var("w").get_tensor().set(value)
    assert scope.values["w"].tolist() == [1, 2]


def test_a_masked_value_is_refused(scope):
    with pytest.raises(DTypeError, match="scope variable 'w': expected an array without a mask"):
        scope.var("w").get_tensor().set(np.ma.array([1.0], mask=True))


def test_what_is_set_is_a_copy(scope):
    given = np.array([1.0, 2.0])
    scope.var("w").get_tensor().set(given)
    given[0] = 5
    assert scope.values["w"].tolist() == [1.0, 2.0]


def test_a_task_that_waits_inside_the_guard_leaves_other_tasks_their_scope():
    outside = static.global_scope()

    async def hold(begun, may_end):
        scope = static.Scope()
        with static.scope_guard(scope):
            begun.set()
            await may_end.wait()
            assert static.global_scope() is scope

    async def wait():
        begun, end = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(hold(begun, end))
        await begun.wait()
        assert static.global_scope() is outside
        end.set()
        await task

    asyncio.run(wait())
    assert static.global_scope() is outside

import gc
import threading

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import InputValueError
from opsdk.core.origin import Origin
from opsdk.define.kernel.kernel import MOST_PLANS, Kernel, KernelId, KernelKey, KernelTable, PlanCache

F32, F64 = np.dtype("float32"), np.dtype("float64")
BAD = {"x": np.arange(4.0), "index": np.array([1, 6])}


def row(language, dtype=None, place="cpu", source="a"):
    return Kernel(KernelKey(place, dtype), language, source, Origin("f.py", 1))


def table(*rows):
    made = KernelTable()
    for entry in rows:
        made.add(entry)
    return made


def test_an_exact_dtype_comes_before_a_faster_language():
    exact = row("numpy", F32)
    assert table(exact, row("numba")).select("cpu", F32) is exact


def test_a_row_of_float64_does_not_serve_float32():
    # np.dtype("float64") == None is true in NumPy.
    wildcard = row("numpy")
    assert table(wildcard, row("numba", F64)).select("cpu", F32) is wildcard


def test_a_row_of_one_dtype_does_not_serve_a_call_without_tensors():
    assert table(row("numba", F64)).select("cpu", None) is None


def test_a_faster_language_comes_before_the_reference():
    fast = row("numba")
    assert table(fast, row("numpy")).select("cpu", F32) is fast


def test_a_later_row_comes_before_an_earlier_one():
    later = row("c")
    assert table(row("numpy"), row("numba"), later).select("cpu", F32) is later


def test_a_floating_row_serves_real_numbers_of_which_one_has_a_fraction():
    fast = Kernel(KernelKey("cpu", floating=True), "numba", "a", Origin("f.py", 1))
    rows = table(row("numpy"), fast)
    served = [("float32",), ("float16", "int8"), ("int64", "float64"), ("bool", "float32")]
    others = [("int64",), ("bool", "int8"), ("complex64", "float32"), ("complex128",)]
    for names in served + others:
        dtypes = [np.dtype(name) for name in names]
        assert (rows.select("cpu", dtypes[0], dtypes) is fast) is (names in served), names


def test_only_a_row_of_every_dtype_serves_the_other_byte_order():
    swapped = F32.newbyteorder()
    wildcard = row("numpy")
    fast = Kernel(KernelKey("cpu", floating=True), "numba", "a", Origin("f.py", 1))
    rows = table(wildcard, fast, row("c", F32))
    assert rows.select("cpu", swapped, [swapped]) is wildcard
    assert rows.select("cpu", F64, [F64, swapped]) is wildcard
    assert rows.select("cpu", F64, [F64, F64]) is fast


def test_a_row_that_cannot_be_used_is_passed_over():
    reference, fast = row("numpy"), row("numba")
    assert table(reference, fast).select("cpu", F32, usable=lambda kernel: kernel is not fast) is reference
    assert table(fast).select("cpu", F32, usable=lambda kernel: False) is None


def test_a_row_of_another_place_is_not_selected():
    assert table(row("numba", place="cuda")).select("cpu", F32) is None


def test_a_row_with_the_same_key_and_language_takes_the_place_of_the_earlier_one():
    rows = table(row("numba", source="old"), row("numba", source="new"))
    assert [entry.source for entry in rows] == ["new"]


def test_rows_of_another_dtype_stay():
    assert len(table(row("numba", F32), row("numba", F64), row("numba"))) == 3


def test_the_reference_is_the_row_that_needs_no_compiler():
    reference = row("composite")
    assert table(row("numba"), reference).reference() is reference


def test_a_table_without_a_reference_says_so():
    assert table(row("numba")).reference() is None


def test_a_new_row_makes_the_plans_of_the_table_forgotten():
    rows, plans = table(row("numpy")), PlanCache()
    rows.plans.add(plans)
    plans["key"] = plans.recorded["key"] = plans.plain["key"] = "plan"
    rows.add(row("numba"))
    assert (len(plans), len(plans.recorded), len(plans.plain)) == (0, 0, 0)


def test_rows_that_are_restored_are_the_rows_and_nothing_planned_on_others_stays():
    rows, plans = table(row("numpy")), PlanCache()
    before = list(rows)
    rows.plans.add(plans)
    rows.add(row("numba"))
    plans["key"] = "plan"
    rows.restore(before)
    assert (list(rows), len(plans)) == (before, 0)


def test_plans_of_definitions_that_are_gone_are_not_kept_alive():
    rows = table()
    rows.plans.add(PlanCache())
    gc.collect()
    assert len(rows.plans) == 0


def test_two_plan_caches_are_two_even_while_both_are_empty():
    rows, first, second = table(), PlanCache(), PlanCache()
    rows.plans.update([first, second])
    assert len(rows.plans) == 2


def test_rows_and_keys_print_as_messages_show_them():
    assert (str(row("numba", F32)), str(KernelKey("cuda"))) == ("numba (cpu, float32)", "(cuda, *)")


def test_rows_added_by_eight_threads_are_all_there():
    rows = table()

    def work(number):
        for i in range(25):
            rows.add(row(f"language{number}.{i}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 200


def test_plans_of_an_op_are_bounded_whatever_its_calls():
    @opsdk.op("tests::named(Tensor x, *, str name) -> Tensor y")
    def named(x, *, name):
        return x * len(name)

    x = np.ones(3)
    for i in range(MOST_PLANS + 50):
        np.testing.assert_array_equal(named(x, name="n" * i), x * i)
    assert len(named.opdef.plans) == MOST_PLANS
    np.testing.assert_array_equal(named(x, name="n"), x)


def test_lists_of_every_length_leave_a_bounded_number_of_plans():
    tensors = [opsdk.to_tensor([1.0])] * (MOST_PLANS + 20)
    for count in range(1, len(tensors) + 1):
        assert opsdk.concat(tensors[:count]).shape == [count]
    assert len(opsdk.find_op("concat").opdef.plans) <= MOST_PLANS


# Kernels that come after a check or an infer rule count on it: graphs that do not know it go without them.


@pytest.fixture
def pick():
    infer = lambda x, index: opsdk.TensorSpec(index.shape, x.dtype)  # noqa: E731 - a rule in a line

    @opsdk.op("t::pick(Tensor x, Tensor<int> index) -> Tensor y", infer=infer, replace=True)
    def pick(x, index):
        return x[index % len(x)]

    @pick.backward
    def pick_grad(x, index, dy):
        dx = np.zeros_like(x)
        np.add.at(dx, index % len(x), dy)
        return dx

    return pick


def lies_within(x, index):
    return "an index lies outside" if index.max() >= len(x) else None


def program_of(op, **specs):
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        made = op(*[opsdk.static.data(name, *spec) for name, spec in specs.items()])

    def run(**feed):
        return opsdk.static.Executor().run(main, feed=feed, fetch_list=[made])[0].tolist()

    return run


def test_a_program_from_before_a_check_does_without_a_later_kernel_that_counts_on_it(pick):
    run = program_of(pick, x=([None], "float64"), index=([None], "int64"))
    assert run(**BAD) == [1.0, 2.0]
    pick.check(lies_within)
    pick.kernel("cpu", language="numpy")(lambda x, index: np.full(index.shape, 1000.0))
    assert run(**BAD) == [1.0, 2.0]
    with pytest.raises(InputValueError, match="an index lies outside"):
        program_of(pick, x=([None], "float64"), index=([None], "int64"))(**BAD)


def test_a_graph_from_before_a_check_of_the_gradient_does_without_its_later_kernel(pick):
    def recorded():
        x = opsdk.to_tensor(BAD["x"], stop_gradient=False)
        return x, pick(x, opsdk.to_tensor(BAD["index"]))

    x, y = recorded()
    pick.grad.check(lambda x, index: lies_within(x, index))
    _, later = recorded()
    with pytest.raises(InputValueError, match="an index lies outside"):
        later.sum().backward()
    pick.grad.kernel("cpu", language="numpy")(lambda x, index, dy: np.full(x.shape, 1000.0))
    y.sum().backward()
    assert x.grad.numpy().tolist() == [0.0, 1.0, 1.0, 0.0]


def test_a_program_from_before_an_infer_rule_does_without_a_later_kernel_that_counts_on_it():
    @opsdk.op("t::scaled(Tensor x, Tensor w) -> Tensor y", infer=opsdk.infer.like("x"), replace=True)
    def scaled(x, w):
        return x * w

    scaled.backward(lambda x, w, dy: (dy * w, (dy * x).sum(0)))
    specs = {"x": ([None, 4], "float64"), "w": ([4], "float64")}
    run = program_of(scaled, **specs)
    x, w = np.ones((3, 4)), np.arange(4.0)
    tensor = opsdk.to_tensor(w, stop_gradient=False)
    y = scaled(opsdk.to_tensor(x), tensor)
    scaled.infer(opsdk.infer.broadcast, replace=True)
    gave = []
    scaled.kernel("cpu", language="numba")(lambda x, w, y: None)
    scaled.grad.kernel("cpu", language="numpy")(lambda x, w, dy: gave.append(w.shape) or (dy * w, dy * x))
    assert run(x=x, w=w) == (x * w).tolist()
    y.sum().backward()
    assert tensor.grad.numpy().tolist() == [3.0, 3.0, 3.0, 3.0]
    assert gave == []


def test_a_kernel_that_is_taken_back_serves_no_older_graph_either(pick):
    pick.kernel("cpu", language="numba")(lambda x, index: np.full(index.shape, 1000.0))
    run = program_of(pick, x=([None], "float64"), index=([None], "int64"))
    assert run(**BAD) == [1000.0, 1000.0]
    pick.check(lambda x: None)
    pick.check(lambda index: None)
    pick.unregister_kernel("cpu", language="numba")
    assert run(**BAD) == [1.0, 2.0]


# -- names of kernels


def kernel(dtype=None):
    return Kernel(KernelKey("cpu", None if dtype is None else np.dtype(dtype)), "numba", "text", Origin("f.py", 1))


def test_a_kernel_is_named_by_place_dtype_and_language():
    assert str(KernelId.of(kernel(), np.dtype("float64"))) == "cpu,float64,numba"
    assert str(KernelId.of(kernel(), None, "t::f")) == "cpu,*,numba"


def test_the_text_leads_back_to_what_it_is_of():
    identity = KernelId("cuda", "float32", "c", "t::f")
    assert KernelId.parse("cuda,float32,c", "t::f") == identity
    assert KernelId.parse(str(identity)) == KernelId("cuda", "float32", "c")


@pytest.mark.parametrize("text", ["*", "", "numba"])
def test_a_text_that_names_no_kernel_is_about_any(text):
    assert KernelId.parse(text) == KernelId("*", "*", "*")


def test_one_kernel_is_the_same_at_every_dtype_and_two_ops_have_two():
    short, long = (KernelId.parse(f"cpu,{dtype},numba", "t::f") for dtype in ("float32", "float64"))
    assert short != long
    assert short.at_any_dtype == long.at_any_dtype == KernelId("cpu", "*", "numba", "t::f")
    assert short.at_any_dtype != KernelId.parse("cpu,float32,numba", "t::g").at_any_dtype


def test_words_are_all_parts_of_what_they_name():
    identity = KernelId.parse("cpu,float32,numba")
    assert identity.has("numba") and identity.has("float32,numba")
    assert not identity.has("float64,numba") and not identity.has("c")


@pytest.mark.parametrize(
    ("dtype", "words", "is_selected"),
    [
        (None, "numba", True),
        (None, "cpu,float16,numba", True),
        (None, "cpu,*,numba", True),
        (None, "c", False),
        ("int64", "cpu,int64,numba", True),
        ("int64", "cpu,float64,numba", True),
        ("int64", "cpu,int32,numba", False),
    ],
)
def test_a_kernel_is_selected_by_the_dtypes_at_which_it_is_tried(dtype, words, is_selected):
    one = kernel(dtype)
    assert KernelId.of(one, one.key.dtype).is_selected(words) is is_selected

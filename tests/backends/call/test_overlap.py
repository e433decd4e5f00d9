"""Memory that a call changes in place, beside what else it reads: kernels of every language give one answer."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import opsdk
from opsdk import static
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.overlap import apart, check_changeable
from opsdk.core.errors import InPlaceError, MutationError
from opsdk.core.fast import FAST

CALLS = range(1, 10)  # compiled kernels are compared with copies at calls 1, 2, 4 and 8

C_LOOP = """int32_t add_f64(DLTensor *x, const DLTensor *w) {
  const int64_t n = opsdk_size(x);
  double *a = OPSDK_DATA(double, x); const double *b = OPSDK_DATA(const double, w);
  for (int64_t i = 0; i < n; ++i) a[AT(x)] += b[AT(w)];
  return 0; }"""


def numpy_kernel(op):
    """The reference serves."""


def numba_kernel(op):
    pytest.importorskip("numba")

    @op.kernel("cpu", language="numba")
    def kernel(x, w):
        for i in np.ndindex(x.shape):
            x[i] += w[i]


def c_kernel(op):
    pytest.importorskip("cffi")
    op.kernel("cpu", language="c", dtype="float64", source=C_LOOP.replace("AT(x)", "i").replace("AT(w)", "i"))


def strided_c_kernel(op):
    pytest.importorskip("cffi")
    source = C_LOOP.replace("AT(x)", "opsdk_offset(x, i)").replace("AT(w)", "opsdk_offset(w, i)")
    op.kernel("cpu", language="c", dtype="float64", source=source, contiguous=False)


def plus(x, w):
    x += 1 if w is None else w


KERNELS = {"numpy": numpy_kernel, "numba": numba_kernel, "c": c_kernel, "strided c": strided_c_kernel}


@pytest.fixture(params=KERNELS.values(), ids=KERNELS)
def add(request):
    """x += w, by a kernel that reads what it has written already where the two are one memory."""

    @opsdk.op("t::add(Tensor(a!) x, Tensor w) -> Tensor(a!) y")
    def add(x, w):
        for i in np.ndindex(x.shape):
            x[i] += w[i]

    @add.backward
    def add_grad(dy):
        return dy, dy.copy()

    request.param(add)
    return add


OVERLAPS = {
    "reversed": lambda a: (a, a[::-1]),
    "one behind": lambda a: (a[1:], a[:-1]),
    "one ahead": lambda a: (a[:-1], a[1:]),
    "itself": lambda a: (a, a),
    "another view of it": lambda a: (a, a[:]),
    "transposed": lambda a: (a[:4].reshape(2, 2), a[:4].reshape(2, 2).T),
    "an element of it": lambda a: (a, np.broadcast_to(a[2], a.shape)),
    "in its own bounds": lambda a: (a[::2], a[1::2]),
    "disjoint": lambda a: (a[:3], a[3:]),
    "empty": lambda a: (a[:0], a[:0]),
}


@pytest.mark.parametrize("taken", OVERLAPS.values(), ids=OVERLAPS)
def test_arrays_that_overlap_give_what_numpy_gives_in_every_call(add, taken):
    for _ in CALLS:
        expected, array = np.arange(6.0), np.arange(6.0)
        x, w = taken(expected)
        np.add(x, w, out=x)
        x, w = taken(array)
        assert add(x, w) is x
        assert array.tolist() == expected.tolist()


def test_overlap_that_comes_after_ordinary_calls_is_seen_too(add):
    for _ in range(2):
        add(np.ones(5), np.ones(5))
    array = np.arange(5.0)
    add(array, array[::-1])
    assert array.tolist() == [4, 4, 4, 4, 4]


@pytest.mark.usefixtures("debug")
def test_overlap_is_seen_where_every_call_is_checked_in_full(add):
    for _ in CALLS:
        array = np.arange(5.0)
        add(array, array[::-1])
        assert array.tolist() == [4, 4, 4, 4, 4]


@pytest.mark.parametrize("records", [False, True])
def test_tensors_that_share_memory_give_what_numpy_gives_in_every_call(add, records):
    for _ in CALLS:
        t = opsdk.to_tensor(np.arange(4.0).reshape(2, 2))
        bias = opsdk.to_tensor(np.zeros((2, 2)), stop_gradient=not records)
        add(t, bias)
        w = t.transpose([1, 0])
        with opsdk.no_grad():
            add(t, w)
        assert t.numpy().tolist() == [[0, 3], [3, 6]]


def test_an_array_beside_a_tensor_that_it_shares_memory_with_is_read_as_it_was(add):
    for _ in CALLS:
        t = opsdk.to_tensor(np.arange(5.0))
        with opsdk.no_grad():
            add(t, t._array[::-1])
        assert t.numpy().tolist() == [4, 4, 4, 4, 4]


def test_a_program_that_gives_one_variable_twice_adds_what_it_was(add):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None], "float64")
        y = add(x, x)
    exe = static.Executor()
    for _ in CALLS:
        (made,) = exe.run(main, feed={"x": np.arange(5.0)}, fetch_list=[y])
        assert made.tolist() == [0, 2, 4, 6, 8]


def running(x, w):
    total = 0.0
    for i in range(len(x)):
        total += w[i]
        x[i] = total + w[0]


@pytest.mark.parametrize("language", ["numpy", "numba"])
def test_a_kernel_that_reads_elsewhere_than_it_writes_gets_the_very_array_as_it_was(language):
    op = opsdk.op("t::running(Tensor(a!) x, Tensor w) -> Tensor(a!) y")(running)
    if language == "numba":
        pytest.importorskip("numba")
        op.kernel("cpu", running, language="numba")
    for _ in CALLS:
        array = np.array([5.0, 1.0, 2.0])
        op(array, array)
        assert array.tolist() == [10, 11, 13]  # the sums 5, 6, 8 and the first element


def test_what_a_kernel_changes_beside_what_it_may_is_found_under_overlap_too():
    pytest.importorskip("numba")
    op = opsdk.op("t::both(Tensor(a!) x, Tensor w) -> Tensor(a!) y")(plus)

    @op.kernel("cpu", language="numba")
    def both(x, w):
        for i in range(x.size):
            w[i] = 7.0
            x[i] += w[i]

    array = np.arange(4.0)
    with pytest.raises(MutationError, match="input 'w' was changed in place, expected it untouched"):
        op(array[1:], array[:-1])


def add_each(xs, ws):
    for x, w in zip(xs, ws):  # noqa: B905 - as Numba takes it
        for i in range(x.size):
            x[i] += w[i]


def test_each_array_of_a_list_is_read_as_it_was_before_any_was_changed():
    op = opsdk.op("t::each(Tensor(a!)[] xs, Tensor[] ws) -> Tensor(a!)[] ys")(add_each)
    for _ in CALLS:
        array = np.arange(6.0)
        op([array[:2], array[4:]], [array[1:3], array[:2]])
        assert array.tolist() == [1, 3, 2, 3, 4, 6]
        pair = [opsdk.to_tensor(np.arange(2.0)), opsdk.to_tensor(np.ones(2))]
        op(pair, pair[::-1])
        assert [t.tolist() for t in pair] == [[1, 2], [1, 2]]


def test_an_input_that_is_left_out_overlaps_with_nothing():
    op = opsdk.op("t::some(Tensor(a!) x, Tensor? w=None) -> Tensor(a!) y")(plus)
    assert op(np.zeros(2)).tolist() == [1, 1]
    array = np.arange(3.0)
    assert op(array[1:], array[:-1]).tolist() == [1, 3]


@pytest.fixture
def swap():
    @opsdk.op("t::swap(Tensor(a!) x, Tensor(b!) w) -> (Tensor(a!) y, Tensor(b!) v)")
    def swap(x, w):
        x[...], w[...] = w.copy(), x.copy()

    return swap


def test_two_inputs_that_are_changed_have_memory_of_their_own(swap):
    array = np.arange(4.0)
    for x, w in ((array[1:], array[:-1]), (array, array), (array, array[::-1])):
        with pytest.raises(InPlaceError, match=r"op 't::swap': inputs 'x' and 'w' expected memory of their own, since"):
            swap(x, w)
    tensor = opsdk.to_tensor(np.arange(4.0))
    with pytest.raises(InPlaceError, match=r"changes both in place, got arrays that overlap; give a copy.*clone\(\)"):
        swap(tensor, tensor)
    assert array.tolist() == tensor.tolist() == [0, 1, 2, 3]


def test_inputs_that_are_changed_may_lie_between_one_another(swap):
    array = np.arange(6.0)
    for _ in CALLS[:2]:
        swap(array[::2], array[1::2])
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    swap(array[::2], array[1::2])
    assert array.tolist() == [1, 0, 3, 2, 5, 4]
    nothing = np.ones(0)
    swap(nothing, nothing)


def bump_each(xs):
    for x in xs:
        x += 1


def test_a_list_that_is_changed_holds_each_array_once():
    op = opsdk.op("t::bump(Tensor(a!)[] xs) -> Tensor(a!)[] ys")(bump_each)
    array = np.zeros(3)
    with pytest.raises(InPlaceError, match=r"inputs 'xs\[0\]' and 'xs\[1\]' expected memory of their own"):
        op([array, array])
    assert array.tolist() == [0, 0, 0]
    assert [x.tolist() for x in op([array[:1], array[1:]])] == [[1], [1, 1]]


def test_what_an_output_may_be_a_view_of_lies_apart_from_what_is_changed():
    @opsdk.op("t::look(Tensor(a!) x, Tensor(b) w) -> (Tensor(a!) y, Tensor(b) v)")
    def look(x, w):
        x += 1
        return w[::-1]

    array = np.arange(4.0)
    x, view = look(array[:2], array[2:])
    assert x.tolist() == [1, 2] and view.base is not None
    with pytest.raises(InPlaceError, match=r"op 't::look', input 'w': expected memory apart from that of 'x', which"):
        look(array[1:3], array[2:])
    assert array.tolist() == [1, 2, 2, 3]


@pytest.mark.parametrize("fast", [True, False])
def test_only_what_overlaps_is_copied(monkeypatch, fast):
    if not fast:
        monkeypatch.setattr("opsdk.backends.call.overlap.FAST", None)
    opdef = opsdk.op("t::add(Tensor(a!) x, Tensor w, Tensor? v=None) -> Tensor(a!) y")(lambda x, w, v: None).opdef
    array, other = np.arange(6.0), np.ones(3)
    given = (array[::2], other, None)
    assert all(a is b for a, b in zip(apart(opdef, given), given, strict=True))
    x, w, v = apart(opdef, (array[::2], array[:3], other))
    assert x.base is array and not np.shares_memory(w, array) and v is other
    x, w, v = apart(opdef, [array[:3], array[3:], array[1::2]])
    assert x.base is array and w.base is array and v.base is not array and v.tolist() == [1, 3, 5]
    plain = opsdk.op("t::plain(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x + w).opdef
    assert apart(plain, given) is given


@pytest.mark.skipif(FAST is None, reason="the fast path is not built")
def test_bounds_are_those_of_the_elements():
    array = np.arange(24.0).reshape(4, 6)
    views = {
        "rows": (array[:2], array[2:], False),
        "from the end": (array[1::-1], array[2:], False),
        "touching": (array[:2, ::-1], array[1, -1:], True),
        "columns": (array[:, :3], array[:, 3:], True),  # bounds alone
        "empty": (array[:0], array, False),
        "0-d": (array[0, :1].reshape(()), array[0, 1:2], False),
        "a byte": (array.view(np.uint8)[0, :9], array[0, 1:2], True),
    }
    for name, (x, w, expected) in views.items():
        assert FAST.may_overlap([x, w], (0,)) is expected, name
        assert FAST.may_overlap((w, [x]), (1,)) is expected, name
    assert FAST.may_overlap([array, None, array], (1,)) is False
    assert FAST.may_overlap([[array, array[:0]], None], (0,)) is False
    assert FAST.may_overlap([array, object()], (0,)) is True  # of which nothing is known
    many = [np.zeros(1) for _ in range(100)]
    assert FAST.may_overlap([many, array], (0,)) is False
    assert FAST.may_overlap([many, [*many[:0], many[99]]], (0,)) is True
    assert FAST.may_overlap(7, (0,)) is True


def bump(x):
    x += 1


def windows():
    return as_strided(np.arange(1.0, 7.0), (4, 3), (8, 8))


ITSELF = {
    "windows": windows,
    "windows backwards": lambda: windows()[::-1],
    "windows that touch": lambda: as_strided(np.arange(9.0), (4, 3), (16, 8)),
    "parts of an element": lambda: as_strided(np.arange(9.0), (4,), (4,)),
    "one element": lambda: np.broadcast_to(np.ones(1), (3,)),
}
OWN = {
    "a slice": lambda: np.arange(12.0)[::3],
    "backwards": lambda: np.arange(12.0)[::-2],
    "a transpose": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "a part of columns": lambda: np.arange(24.0).reshape(4, 6)[:, 1:3].T,
    "windows side by side": lambda: as_strided(np.arange(12.0), (4, 3), (24, 8)),
    "axes of one": lambda: as_strided(np.arange(3.0), (1, 3, 1), (0, 8, 3)),
    "no elements": lambda: as_strided(np.arange(3.0), (0, 3), (0, 0)),
    "imaginary parts": lambda: np.zeros(3, complex).imag,
    "0-d": lambda: np.array(1.0),
}


@pytest.mark.parametrize("make", ITSELF.values(), ids=ITSELF)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_an_array_whose_elements_share_memory_is_not_changed_in_place(make, kernel):
    op = opsdk.op("t::add(Tensor(a!) x, Tensor w) -> Tensor(a!) y")(plus)
    kernel(op)
    array = make()
    before = array.copy()
    for _ in range(3):
        with pytest.raises(InPlaceError, match=r"input 'x': expected an array that can be changed in place, got one"):
            op(array, np.ones(array.shape))
    assert array.tolist() == before.tolist()


@pytest.mark.parametrize("make", ITSELF.values(), ids=ITSELF)
def test_a_tensor_whose_elements_share_memory_is_not_changed_in_place(make):
    op = opsdk.op("t::bump(Tensor(a!) x) -> Tensor(a!) y")(bump)
    tensor = Tensor(make())
    for change in (op, lambda t: t.fill_(2.0), lambda t: t.set_value(np.ones(t.shape))):
        with pytest.raises(InPlaceError, match="got one whose elements share memory, going by its strides"):
            change(tensor)
    assert tensor.tolist() == make().tolist()


@pytest.mark.parametrize("make", ITSELF.values(), ids=ITSELF)
def test_strides_tell_that_elements_share_memory(make):
    with pytest.raises(InPlaceError, match=r"here: expected .* whose elements share memory, going by its strides \("):
        check_changeable(make(), "here")


@pytest.mark.parametrize("make", OWN.values(), ids=OWN)
def test_an_array_of_which_each_element_has_its_own_place_is_changed(make):
    array = make()
    check_changeable(array, "here")
    op = opsdk.op("t::bump(Tensor(a!) x) -> Tensor(a!) y")(bump)
    expected = array + 1
    assert op(array).tolist() == expected.tolist()

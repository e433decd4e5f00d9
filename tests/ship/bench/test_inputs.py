import numpy as np
import pytest

import opsdk
from opsdk.core.errors import TargetError
from opsdk.ship.bench.inputs import grown, large_call, sizes_of
from opsdk.verify.inputs.sampling import UnusableSamplesError
from opsdk.verify.kernels.launch import launch

FLOAT32 = np.dtype("float32")


def call_of(op, n, dtype=FLOAT32):
    def run(call):
        launch(op.opdef, op.opdef.kernels.reference(), call.inputs, call.attrs)
        return call

    return large_call(op.opdef, n, dtype, run)


def shapes(call):
    return [array.shape for array in call.inputs]


@pytest.mark.parametrize(
    ("text", "sizes"), [("1M", (1 << 20,)), ("4k,64K", (4096, 65536)), ("1_000", (1000,)), ("2G", (2 << 30,))]
)
def test_sizes_are_numbers_with_powers_of_1024(text, sizes):
    assert sizes_of(text) == sizes


@pytest.mark.parametrize("text", ["", "M", "0", "-1", "1.5M", "1M,", "many"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(TargetError, match="--n: expected a number of elements such as 1000, 64K or 1M, got"):
        sizes_of(text)


def test_an_op_without_samples_gets_rows_of_numbers_in_the_wanted_dtype():
    @opsdk.op(namespace="large")
    def halve(x):
        return x / 2

    call = call_of(halve, 4096)
    assert shapes(call) == [(4, 1024)]
    assert call.inputs[0].dtype == FLOAT32
    assert shapes(call_of(halve, 7)) == [(7,)]


def test_numbers_stay_inside_the_domain():
    @opsdk.op(namespace="large", domain={"x": (2.0, 3.0)})
    def inside(x):
        return x + 1

    (x,) = call_of(inside, 5000, np.dtype("float64")).inputs
    assert x.min() >= 2.0
    assert x.max() <= 3.0


def test_shapes_that_belong_together_grow_together():
    @opsdk.op("large::scaled(Tensor x, Tensor w) -> Tensor y")
    def scaled(x, w):
        if x.shape[-1:] != w.shape:
            raise ValueError("w expected one number per column")
        return x * w

    @scaled.samples
    def scaled_samples(rng):
        yield opsdk.Sample(np.ones((0, 3)), np.ones(3), reason="no rows")
        yield opsdk.Sample(rng.normal(size=(2, 3)), rng.normal(size=3), reason="rows")
        yield opsdk.Sample(np.full((4, 5), 1e30), np.ones(5), reason="overflow, no everyday input")

    assert shapes(call_of(scaled, 8192)) == [(8, 1024), (1024,)]


def test_labels_stay_labels_when_rows_are_added():
    @opsdk.op("large::picked(Tensor x, Tensor label) -> Tensor y", infer=lambda x, label: x)
    def picked(x, label):
        return np.take_along_axis(x, label[:, None], 1) + 0 * x

    @picked.samples
    def picked_samples(rng):
        yield opsdk.Sample(rng.normal(size=(4, 3)), rng.integers(0, 3, 4), reason="rows")

    x, label = call_of(picked, 8192).inputs
    assert (x.shape, label.shape) == ((8, 1024), (8,))
    assert label.dtype == np.int64
    assert label.max() < 3


def test_another_way_to_grow_is_tried_where_the_first_is_refused():
    @opsdk.op("large::pairs(Tensor x) -> Tensor y")
    def pairs(x):
        if x.shape[-1] != 2:
            raise ValueError("expected pairs")
        return x * 2

    @pairs.samples
    def pairs_samples(rng):
        yield opsdk.Sample(rng.normal(size=(5, 2)), reason="pairs")

    assert shapes(call_of(pairs, 4096)) == [(2048, 2)]


def test_outputs_out_of_proportion_are_never_computed():
    @opsdk.op("large::outer(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((x.shape[0],) * 2, x.dtype))
    def outer(x):
        assert x.size < 100
        return np.outer(x, x)

    @outer.samples
    def outer_samples(rng):
        yield opsdk.Sample(rng.normal(size=3), reason="three")

    with pytest.raises(TargetError, match="ShapeError: op 'large::outer': expected outputs of at most 65536 elements"):
        call_of(outer, 1024)


def test_what_nobody_can_enlarge_asks_for_a_declaration():
    @opsdk.op("large::fixed(Tensor x) -> Tensor y")
    def fixed(x):
        if x.shape != (3,):
            raise ValueError("expected three")
        return x * 2

    @fixed.samples
    def fixed_samples(rng):
        yield opsdk.Sample(rng.normal(size=3), reason="three")

    with pytest.raises(TargetError) as caught:
        call_of(fixed, 1024)
    assert str(caught.value) == (
        "op 'large::fixed': expected inputs that can be enlarged to 1024 elements, (float32(1024,)) three raised "
        "ValueError: expected three; say how with @fixed.bench: def fixed_bench(rng, n): return opsdk.Sample(...)"
    )

    @fixed.bench
    def fixed_bench(rng, n):
        return opsdk.Sample(np.full(3, float(n)))

    assert call_of(fixed, 1024).inputs[0].tolist() == [1024.0] * 3


def test_a_declaration_that_is_no_call_is_told():
    @opsdk.op(namespace="large")
    def halve(x):
        return x / 2

    halve.bench(lambda rng, n: np.ones(n))
    with pytest.raises(UnusableSamplesError, match=r"bench: expected an opsdk\.Sample, got ndarray; return"):
        call_of(halve, 8)
    halve.bench(lambda rng, n: opsdk.Sample(np.ones(n), np.ones(n)))
    with pytest.raises(UnusableSamplesError, match=r"expected an opsdk\.Sample that the op takes, raised ArityError"):
        call_of(halve, 8)


def test_growing_repeats_slices_of_the_original():
    array = np.array([[1, 2, 3], [4, 5, 6]])
    made = grown(array, array.shape, {2: 50, 3: 7}, np.random.default_rng(0))
    assert made.shape == (50, 7)
    assert set(map(tuple, np.unique(made, axis=0))) <= {tuple(row) for row in made}
    assert set(np.unique(made)) <= set(range(1, 7))
    rows = grown(array, array.shape, {2: 50}, np.random.default_rng(0))
    assert set(map(tuple, rows)) == {(1, 2, 3), (4, 5, 6)}


def test_lengths_that_a_domain_names_grow_and_fixed_ones_do_not():
    shape = opsdk.domain.shape

    @opsdk.op(namespace="large", domain={"x": shape("N", 2, 2), "w": shape("N")})
    def weighted(x, w):
        return x * w[:, None, None]

    assert [array.shape for array in call_of(weighted, 4096).inputs] == [(1024, 2, 2), (1024,)]


def test_what_is_made_of_a_named_length_grows_with_it():
    shape = opsdk.domain.shape

    @opsdk.op(namespace="large", domain={"x": shape("*B", "2*K"), "w": shape("*B", "K-1")})
    def halves(x, w):
        return x * w.sum()

    @opsdk.op(namespace="large", domain={"x": shape("2*K"), "w": shape("K-1")})
    def line(x, w):
        return x * w.sum()

    assert shapes(call_of(halves, 4096)) == [(2, 2048), (2, 1023)]
    assert shapes(call_of(line, 4096)) == [(4096,), (2047,)]

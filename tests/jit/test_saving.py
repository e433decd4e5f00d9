import os
import threading
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk import amp, jit, nn, static
from opsdk.core.errors import AttributeValueError, FileWriteError, ProgramError, ReturnError
from opsdk.core.files import atomic
from opsdk.static import InputSpec
from tests.jit.nets import NETS, bits, mlp, step

SPEC = [InputSpec([None, 6])]


@pytest.fixture
def prefix(tmp_path):
    """What the names of the three files begin with."""
    return str(tmp_path / "folder" / "model")


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_saved_loaded_and_to_static_agree_bit_for_bit(prefix, name, training):
    make, spec, data = NETS[name]
    opsdk.seed(1)
    net, x = make(), data(3)
    jit.save(net, prefix, [spec])
    loaded, traced = jit.load(prefix), make()
    traced.set_state_dict(net.state_dict())
    jit.to_static(traced)
    for layer in (net, loaded, traced):
        layer.train() if training else layer.eval()
    expected = step(net, net, x)
    assert len(expected) > len(list(net.parameters()))
    assert step(loaded, loaded, x) == expected
    assert step(traced, traced, x) == expected


def test_the_state_keeps_its_names_kinds_and_values(prefix):
    net = nn.Sequential(nn.Linear(6, 2), nn.BatchNorm1D(2))
    net.register_buffer("seen", opsdk.ones([2]), persistable=False)
    net[0].bias.stop_gradient = True
    jit.save(net, prefix, SPEC)
    loaded = jit.load(prefix)
    assert list(loaded.state_dict()) == list(net.state_dict())
    assert "seen" not in loaded.state_dict()
    assert loaded.seen.numpy().tolist() == [1.0, 1.0]
    assert {name for name, p in loaded.named_parameters() if p.stop_gradient} == {"0.bias", "1._mean", "1._variance"}
    assert bits(v.numpy() for v in loaded.state_dict().values()) == bits(v.numpy() for v in net.state_dict().values())


def test_saving_leaves_the_layer_as_it_was(prefix):
    net = NETS["cnn"][0]()
    net.train()
    net[1].eval()
    before, drawn = bits(v.numpy() for v in net.state_dict().values()), opsdk.get_rng_state()
    jit.save(net, prefix, [NETS["cnn"][1]])
    assert bits(v.numpy() for v in net.state_dict().values()) == before
    assert [each.training for each in net.sublayers(include_self=True)][:4] == [True, True, False, True]
    assert repr(opsdk.get_rng_state()) == repr(drawn)
    assert all(parameter.grad is None for parameter in net.parameters())


def test_a_loaded_layer_is_trained_saved_again_and_its_weights_fit_the_class(prefix, tmp_path):
    opsdk.seed(2)
    net, x = mlp(), opsdk.randn([5, 6])
    jit.save(net, prefix, SPEC)
    loaded, found = jit.load(prefix), []
    for layer in (net, loaded):
        layer.train()
        opsdk.seed(3)
        adam = opsdk.optimizer.Adam(0.05, parameters=layer.parameters())
        for _ in range(4):
            (layer(x) ** 2).mean().backward()
            adam.step()
            adam.clear_grad()
        layer.eval()
        found.append(bits([layer(x).numpy(), *(p.numpy() for p in layer.parameters())]))
    assert found[0] == found[1]
    jit.save(loaded, tmp_path / "again")
    again, fresh = jit.load(tmp_path / "again"), mlp()
    assert fresh.set_state_dict(again.state_dict()) == ([], [])
    fresh.eval()
    assert bits([again(x).numpy()]) == bits([fresh(x).numpy()]) == found[0][:1]


def test_the_files_take_no_part_in_what_the_layer_does_later(prefix):
    net, x = mlp(), opsdk.ones([1, 6])
    net.eval()
    before = net(x).numpy()
    jit.save(net, prefix, SPEC)
    net[0].weight.set_value(np.zeros((6, 8), "float32"))
    assert np.array_equal(jit.load(prefix)(x).numpy(), before)


def test_hooks_are_recorded(prefix):
    net = nn.Sequential(nn.Linear(6, 2))
    net[0].register_forward_post_hook(lambda layer, inputs, output: output * 2)
    jit.save(net, prefix, SPEC)
    assert np.array_equal(jit.load(prefix)(opsdk.ones([1, 6])).numpy(), net(opsdk.ones([1, 6])).numpy())


def test_mixed_precision_around_a_call_is_that_of_the_original(prefix):
    opsdk.seed(4)
    net, x = mlp(), opsdk.randn([4, 6])
    jit.save(net, prefix, SPEC)
    loaded = jit.load(prefix)
    net.eval()
    with amp.auto_cast():
        expected, found = net(x), loaded(x)
    assert bits([found.numpy()]) == bits([expected.numpy()]) != bits([loaded(x).numpy()])


def test_a_second_derivative_goes_through_a_loaded_layer(prefix):
    net = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
    net[0].weight.set_value(np.array([[2.0]], "float32"))
    net[0].bias.set_value(np.zeros(1, "float32"))
    jit.save(net, prefix, [InputSpec([None, 1])])
    loaded, x = jit.load(prefix), opsdk.to_tensor(np.array([[0.25]], "float32"), stop_gradient=False)
    (first,) = opsdk.grad(loaded(x), x, create_graph=True)
    (second,) = opsdk.grad(first, x)
    t = np.tanh(0.5)
    assert first.item() == pytest.approx(2 * (1 - t * t), rel=1e-6)
    assert second.item() == pytest.approx(-8 * t * (1 - t * t), rel=1e-6)


def test_in_a_program_a_loaded_layer_appends_its_calls(prefix):
    net = nn.Sequential(nn.Linear(6, 2))
    jit.save(net, prefix, SPEC)
    loaded, main, startup = jit.load(prefix), static.Program(), static.Program()
    with static.program_guard(main, startup):
        y = loaded(static.data("x", [None, 6], "float32"))
        opsdk.optimizer.SGD(0.1).minimize(y.mean())
    exe, rows = static.Executor(), np.ones((2, 6), "float32")
    weight = net[0].weight.numpy()
    expected = net(opsdk.to_tensor(rows)).numpy()
    exe.run(startup)
    (found,) = exe.run(main, feed={"x": rows}, fetch_list=[y])
    assert np.array_equal(found, expected)
    assert np.allclose(loaded.state_dict()["0.weight"].numpy(), weight - 0.05, atol=1e-7)  # d mean/dw is 1/2 everywhere


def test_a_function_is_saved_with_the_layers_that_it_calls(prefix):
    net = nn.Linear(6, 2)

    def twice(x, by=2.0):
        return {"y": net(x) * by, "n": 3}

    jit.save(twice, prefix, SPEC)
    loaded, x = jit.load(prefix), opsdk.ones([1, 6])
    found = loaded(x)
    assert (list(found), found["n"]) == (["y", "n"], 3)
    assert np.array_equal(found["y"].numpy(), twice(x)["y"].numpy())
    assert len(list(loaded.parameters())) == 2


def test_what_to_static_knows_stands_for_input_spec(prefix):
    net = jit.to_static(nn.Linear(6, 2), input_spec=SPEC)
    jit.save(net, prefix)
    assert jit.load(prefix).input_spec() == [InputSpec([None, 6], "float32", "x")]
    called = jit.to_static(nn.Linear(6, 2))
    called(opsdk.ones([3, 6]))
    jit.save(called, prefix)
    assert jit.load(prefix).input_spec() == [InputSpec([3, 6], "float32", "x")]


def test_outputs_may_be_left_out(prefix):
    class Two(nn.Layer):
        def forward(self, x):
            return x + 1, x * 3

    jit.save(Two(), prefix, SPEC, output_spec=[1])
    (found,) = jit.load(prefix)(opsdk.ones([1, 6]))
    assert found.numpy().tolist() == [[3.0] * 6]
    with pytest.raises(AttributeValueError) as caught:
        jit.save(Two(), prefix, SPEC, output_spec=[2])
    assert str(caught.value) == "jit.save: output_spec expected positions among 2 outputs, got [2]"


# -- an op of one's own ------------------------------------------------------------------------------------------------


def numpy_op():
    @opsdk.op("mine::scaled(Tensor x, float by=2.0) -> Tensor y")
    def scaled(x, by):
        return x * by

    @scaled.backward
    def scaled_grad(dy, by):
        return dy * by

    return scaled


def expression():
    @opsdk.elementwise
    def bent(x):
        return x * x + 1

    return bent


def in_c():
    @opsdk.op("mine::halved(Tensor x) -> Tensor y")
    def halved(x):
        return x * x.dtype.type(0.5)

    @halved.backward
    def halved_grad(dy):
        return dy * dy.dtype.type(0.5)

    halved.kernel(
        "cpu",
        language="c",
        source="""
        int32_t halved_f32(const DLTensor *x, DLTensor *y) {
          const float *in = OPSDK_DATA(const float, x);
          float *out = OPSDK_DATA(float, y);
          for (int64_t i = 0; i < opsdk_size(x); ++i) out[i] = in[i] * 0.5f;
          return 0;
        }
        """,
    )
    return halved


@pytest.mark.parametrize("make", [numpy_op, expression, in_c])
def test_an_op_of_ones_own_is_in_the_file_by_its_name(prefix, make):
    own = make()

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(6, 2)

        def forward(self, x):
            return own(self.line(x))

    net, x = Net(), opsdk.ones([2, 6])
    jit.save(net, prefix, SPEC)
    text = Path(f"{prefix}.pdmodel").read_text()
    assert f'"op": "{own.opdef.name}@1"' in text
    assert '"packages": {' in text
    loaded = jit.load(prefix)
    net.train()
    loaded.train()
    assert step(loaded, loaded, x) == step(net, net, x)


# -- what is refused ---------------------------------------------------------------------------------------------------


def nothing_written(prefix):
    return not list(Path(prefix).parent.glob("*"))


def test_a_py_func_is_refused_with_its_line(prefix):
    def forward(x):
        block = static.default_main_program().global_block()
        return static.py_func(np.sin, x, block.create_var("made", [None, 6], "float32"))

    with pytest.raises(ProgramError) as caught:
        jit.save(forward, prefix, SPEC)
    assert "expected a registered op, which is found by its name where the file is loaded, got a callable" in str(
        caught.value
    )
    assert f"{Path(__file__).name}:" in str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    assert nothing_written(prefix)


def test_an_op_that_lost_its_name_is_refused(prefix):
    lost = numpy_op()

    @opsdk.op("mine::scaled(Tensor x) -> Tensor y", replace=True)
    def scaled(x):
        return x * 3

    with pytest.raises(ProgramError, match="got a definition that lost it to another one; build the Program anew"):
        jit.save(lambda x: lost(x), prefix, SPEC)


def test_a_value_that_is_asked_for_is_refused_with_the_line(prefix):
    def forward(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(ProgramError) as caught:
        jit.save(forward, prefix, SPEC)
    line = forward.__code__.co_firstlineno + 1
    assert f"{Path(__file__).name}:{line}" in str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))


def test_what_cannot_be_traced_in_training_is_loaded_to_be_evaluated(prefix):
    class Picky(nn.Layer):
        def forward(self, x):
            return x * 2 if not self.training else x * float(x.sum())

    jit.save(Picky(), prefix, SPEC)
    loaded = jit.load(prefix)
    assert loaded(opsdk.ones([1, 6])).numpy().tolist() == [[2.0] * 6]
    with pytest.raises(ProgramError, match=r"expected to be evaluated only: tracing the layer as it is trained raised"):
        loaded.train()


@pytest.mark.parametrize(
    ("layer", "spec", "message"),
    [
        (3, SPEC, "jit.save: layer expected a layer or a function, got int"),
        (nn.ReLU(), None, "jit.save: input_spec expected an InputSpec for each tensor that forward takes, got none"),
        (nn.ReLU(), SPEC[0], "jit.save: input_spec expected a list, one entry for each argument, got InputSpec"),
        (lambda x: x, SPEC * 2, "input_spec: expected what "),
    ],
)
def test_what_cannot_be_saved_says_why(prefix, layer, spec, message):
    with pytest.raises(AttributeValueError) as caught:
        jit.save(layer, prefix, spec)
    assert str(caught.value).startswith(message)
    assert nothing_written(prefix)


def test_a_result_that_no_file_holds_is_refused(prefix):
    with pytest.raises(ReturnError, match=r"jit.save: expected tensors, numbers, texts and None, .* returned set"):
        jit.save(lambda x: (x, {1}), prefix, SPEC)


def test_a_folder_is_no_prefix(tmp_path):
    with pytest.raises(FileWriteError, match=r"path expected what names of files begin with, got '.*/', that of a fol"):
        jit.save(nn.ReLU(), f"{tmp_path}/", SPEC)


def test_threads_may_save_one_layer_at_once(tmp_path):
    net, failed = mlp(), []

    def run(number):
        try:
            jit.save(net, tmp_path / str(number), SPEC)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    net.eval()
    x = opsdk.ones([1, 6])
    assert all(np.array_equal(jit.load(tmp_path / str(n))(x).numpy(), net(x).numpy()) for n in range(4))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_save_that_fails_leaves_the_model_that_was_there(prefix, monkeypatch, number):
    jit.save(nn.Linear(6, 2), prefix, SPEC)
    before = {each.name: each.read_bytes() for each in Path(prefix).parent.iterdir()}
    calls, real = [], os.fsync

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == number + 1:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(FileWriteError, match="No space left on device"):
        jit.save(nn.Linear(6, 2), prefix, SPEC)
    monkeypatch.undo()
    assert {each.name: each.read_bytes() for each in Path(prefix).parent.iterdir()} == before
    jit.load(prefix)


class Remembering(nn.Layer):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 2)
        self.register_buffer("latest", opsdk.zeros([2]))

    def forward(self, x):
        y = self.line(x)
        opsdk.assign(y.sum(axis=0), self.latest)
        return y


def test_what_a_forward_copies_into_a_buffer_is_there_after_each_call(tmp_path):
    net = Remembering()
    jit.save(net, tmp_path / "m", [InputSpec([None, 2])])
    loaded = jit.load(tmp_path / "m")
    for seed in (0, 1):
        x = np.random.default_rng(seed).normal(size=(3, 2)).astype(np.float32)
        expected = (x @ net.line.weight.numpy() + net.line.bias.numpy()).sum(0)
        loaded(x).sum().backward()
        np.testing.assert_allclose(loaded.latest.numpy(), expected, rtol=1e-5)
    assert not net.latest.numpy().any()
    assert loaded.latest.stop_gradient

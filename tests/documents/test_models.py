"""Document 000, item by item: what a layer is, what it holds, how it is called and saved."""

import numpy as np
import pytest

import opsdk
from opsdk import nn

TREE = "Model(\n  (flatten): Flatten()\n  (fc): Linear(in_features=10, out_features=3, dtype=float32)\n)"


class Model(nn.Layer):
    def __init__(self):
        super(Model, self).__init__()  # noqa: UP008 - the line of the document
        self.flatten = nn.Flatten()

    def forward(self, inputs):
        return self.flatten(inputs)


class Image(nn.Layer):
    """The document's model whose parameter is the picture."""

    def __init__(self):
        super().__init__()
        img = self.create_parameter([1, 3, 256, 256])
        self.add_parameter("img", img)

    def forward(self):
        return self.flatten(self.img) if hasattr(self, "flatten") else self.img.reshape([1, -1])


class Saves(nn.Layer):
    def __init__(self, is_buffer):
        super().__init__()
        self.flatten, self.fc = nn.Flatten(), nn.Linear(10, 100)
        tensor = self.create_tensor(name="saved_tensor0")
        if is_buffer:
            self.register_buffer("saved_tensor", tensor, persistable=True)
        else:
            self.saved_tensor = tensor

    def forward(self, input):
        y = self.flatten(input)
        opsdk.assign(y, self.saved_tensor)
        return self.fc(y)


def with_fc():
    model = Model()
    model.add_sublayer("fc", nn.Linear(10, 3))
    return model


def test_a01_a_model_is_a_layer_whose_parameters_training_updates():
    model = nn.Sequential(nn.Linear(2, 1))
    before = model[0].weight.numpy()
    model(opsdk.ones([1, 2])).backward()
    opsdk.optimizer.SGD(0.1, parameters=model.parameters()).step()
    assert isinstance(model, nn.Layer)
    assert np.allclose(model[0].weight.numpy(), before - 0.1)


def test_a02_models_and_layers_are_one_kind():
    assert issubclass(Model, nn.Layer)
    assert issubclass(nn.Linear, nn.Layer)


def test_a03_a_subclass_sets_sublayers_as_attributes():
    with pytest.raises(ValueError, match=r"expected super\(\).__init__\(\) before attribute 'fc' is set"):
        type("Bad", (nn.Layer,), {"__init__": lambda self: setattr(self, "fc", nn.Flatten())})()
    assert Model().flatten.__class__ is nn.Flatten


def test_a04_sublayers_prints_the_list():
    assert str(Model().sublayers()) == "[Flatten()]"


def test_a05_named_sublayers_yields_pairs():
    assert [str(pair) for pair in Model().named_sublayers()] == ["('flatten', Flatten())"]


def test_a06_add_sublayer_prints_the_documents_list():
    model = Model()
    fc = nn.Linear(10, 3)
    assert model.add_sublayer("fc", fc) is fc
    assert str(model.sublayers()) == "[Flatten(), Linear(in_features=10, out_features=3, dtype=float32)]"


def test_a07_apply_visits_sublayers_then_self():
    seen = []
    model = with_fc()
    assert model.apply(lambda layer: seen.append(str(layer))) is model
    assert seen == ["Flatten()", "Linear(in_features=10, out_features=3, dtype=float32)", TREE]


def test_a08_children_are_in_the_order_of_registration():
    model = with_fc()
    assert [type(each).__name__ for each in model.children()] == ["Flatten", "Linear"]
    assert [name for name, _ in model.named_children()] == ["flatten", "fc"]


def test_a09_a_created_parameter_that_is_added_is_an_attribute():
    model = Image()
    assert isinstance(model.img, nn.Parameter)
    assert model.parameters()[0] is model.img
    model().sum().backward()
    assert model.img.grad.shape == [1, 3, 256, 256]


def test_a10_parameters_print_as_such():
    text = str(Image().parameters())
    assert text.startswith("[Parameter containing:\nTensor(shape=[1, 3, 256, 256], dtype=float32, place=")
    assert "stop_gradient=False,\n" in text
    assert [name for name, _ in Image().named_parameters()] == ["img"]


def test_a11_gradients_accumulate_in_the_parameter():
    model = Image()
    for expected in (1.0, 2.0):
        model().sum().backward()
        assert model.img.grad.numpy().max() == expected


def test_a12_clear_gradients_after_the_backward_of_many_elements():
    model = Image()
    out = model()
    assert out.shape == [1, 196608]
    out.backward()
    assert model.img.grad.numpy().min() == 1.0
    model.clear_gradients()
    assert not model.img.grad.numpy().any()


def test_a13_a_created_tensor_takes_what_is_assigned_to_it():
    model = Saves(is_buffer=False)
    x = opsdk.arange(20, dtype="float32").reshape([2, 10])
    model(x)
    assert model.saved_tensor.tolist() == x.tolist()
    assert model.saved_tensor.name == "saves_0.saved_tensor0" or model.saved_tensor.name.endswith(".saved_tensor0")


def test_a15_buffers_print_as_not_initialized_before_the_first_forward():
    model = Saves(is_buffer=True)
    assert str(model.buffers()) == "[Tensor(Not initialized)]"
    assert [str(pair) for pair in model.named_buffers()] == ["('saved_tensor', Tensor(Not initialized))"]


def test_a16_of_eval_and_train_the_last_call_counts():
    model = with_fc()
    model.train()
    model.eval()
    assert [each.training for each in model.sublayers(include_self=True)] == [False] * 3
    assert model(opsdk.ones([10, 1])).shape == [10, 1]
    model.train()
    assert model.fc.training
    assert model(opsdk.ones([10, 1])).shape == [10, 1]


def test_a17_calling_and_forward_print_the_same():
    model, x = Model(), opsdk.randn([10, 1], "float32")
    for out in (model(x), model.forward(x)):
        assert str(out).startswith("Tensor(shape=[10, 1], dtype=float32, place=Place(cpu), stop_gradient=True,")


def test_a18_a_pre_hook_replaces_the_input_and_a_post_hook_the_output():
    model = Model()
    model.register_forward_pre_hook(lambda layer, input: (input[0] + 1.0,))
    model.register_forward_post_hook(lambda layer, input, output: output * 10.0)
    assert model(opsdk.ones([1, 1])).item() == 20.0


def test_a19_a_post_hook_that_doubles():
    model = Model()
    handle = model.flatten.register_forward_post_hook(lambda layer, input, output: 2 * output)
    assert model(opsdk.ones([10, 1])).tolist() == [[2.0]] * 10
    handle.remove()
    assert model(opsdk.ones([10, 1])).tolist() == [[1.0]] * 10


def test_a20_a_pre_hook_sees_a_tuple():
    model, seen = Model(), []

    def pre_hook(layer, input):
        seen.append(input)
        return input

    model.flatten.register_forward_pre_hook(pre_hook)
    assert model(opsdk.ones([10, 1])).tolist() == [[1.0]] * 10
    assert (type(seen[0]), type(seen[0][0])) == (tuple, opsdk.Tensor)


def test_a21_a_state_dict_on_disk_holds_parameters_and_persistable_buffers(tmp_path):
    model = Saves(is_buffer=True)
    model(opsdk.ones([1, 10]))
    opsdk.save(model.state_dict(), tmp_path / "paddle_dy.pdparams")
    assert sorted(opsdk.load(tmp_path / "paddle_dy.pdparams")) == ["fc.bias", "fc.weight", "saved_tensor"]
    fresh = Saves(is_buffer=True)
    assert fresh.set_state_dict(opsdk.load(tmp_path / "paddle_dy.pdparams")) == ([], [])
    assert fresh.saved_tensor.tolist() == [[1.0] * 10]


def test_a22_a_state_is_put_back_at_any_time(tmp_path):
    model = with_fc()
    opsdk.save(model.state_dict(), tmp_path / "paddle_dy.pdparams")
    saved = model.fc.weight.numpy()
    model.fc.weight.set_value(saved + 1)
    model.set_state_dict(opsdk.load(tmp_path / "paddle_dy.pdparams"))
    assert np.array_equal(model.fc.weight.numpy(), saved)


def test_a24_the_kinds_that_the_document_names():
    out = nn.Sequential(nn.Flatten(), nn.Linear(10, 3))(opsdk.ones([2, 10]))
    assert out.shape == [2, 3]
    assert nn.Linear(10, 100).weight.shape == [10, 100]
    assert opsdk.randn([10, 1], "float32").dtype == np.float32

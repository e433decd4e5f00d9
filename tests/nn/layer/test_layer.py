import copy

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.backends.cuda.runtime import can_run
from opsdk.core.errors import AttributeValueError, DTypeError, NameClashError, PlaceError


class Model(nn.Layer):
    def __init__(self):
        super(Model, self).__init__()  # noqa: UP008 - the spelling of many tutorials
        self.flatten = nn.Flatten()

    def forward(self, inputs):
        return self.flatten(inputs)


class Image(nn.Layer):
    """A model whose parameter is an image; it takes no input."""

    def __init__(self):
        super().__init__()
        img = self.create_parameter([1, 3, 4, 4])
        self.add_parameter("img", img)
        self.flatten = nn.Flatten()

    def forward(self):
        return self.flatten(self.img)


# -- sublayers --------------------------------------------------------------------------------------------------------


def test_sublayers_are_registered_as_attributes():
    model = Model()
    assert str(model.sublayers()) == "[Flatten()]"
    assert [(name, str(layer)) for name, layer in model.named_sublayers()] == [("flatten", "Flatten()")]


def test_a_layer_that_was_added_is_listed_after(capsys):
    model = Model()
    fc = nn.Linear(10, 3)
    assert model.add_sublayer("fc", fc) is fc
    assert model.fc is fc
    print(model.sublayers())
    assert capsys.readouterr().out == "[Flatten(), Linear(in_features=10, out_features=3, dtype=float32)]\n"


def test_apply_visits_children_before_their_parent(capsys):
    model = Model()
    model.add_sublayer("fc", nn.Linear(10, 3))
    assert model.apply(print) is model
    assert capsys.readouterr().out == (
        "Flatten()\n"
        "Linear(in_features=10, out_features=3, dtype=float32)\n"
        "Model(\n"
        "  (flatten): Flatten()\n"
        "  (fc): Linear(in_features=10, out_features=3, dtype=float32)\n"
        ")\n"
    )


def test_children_are_in_the_order_of_registration():
    model = Model()
    model.add_sublayer("fc", nn.Linear(10, 3))
    assert [type(layer) for layer in model.children()] == [nn.Flatten, nn.Linear]
    assert [name for name, _ in model.named_children()] == ["flatten", "fc"]


def test_named_sublayers_walk_down_with_dotted_names():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    assert [name for name, _ in net.named_sublayers()] == ["0", "1", "1.0"]
    assert [name for name, _ in net.named_sublayers(prefix="net", include_self=True)] == [
        "net",
        "net.0",
        "net.1",
        "net.1.0",
    ]
    assert net.sublayers(include_self=True)[0] is net
    assert [name for name, _ in net.named_modules()] == ["", "0", "1", "1.0"]
    assert len(list(net.modules())) == 4


def test_a_shared_layer_is_listed_once_and_saved_under_each_name():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, shared)
    assert len(net.sublayers()) == 1
    assert len(net.parameters()) == 2
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert len(list(net.named_sublayers(remove_duplicate=False))) == 2


def test_gradients_of_a_shared_layer_accumulate():
    shared = nn.Linear(1, 1, bias_attr=False)
    shared.weight.set_value([[3.0]])
    shared(shared(opsdk.to_tensor([[2.0]]))).backward()
    assert shared.weight.grad.tolist() == [[12.0]]  # d(w² · 2) = 4 w


def test_layers_are_found_and_replaced_by_path():
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 3)), nn.ReLU())
    assert net.get_sublayer("0.0") is net[0][0]
    assert net.get_parameter("0.0.weight") is net[0][0].weight
    net.set_sublayer("0.0", nn.Tanh())
    assert str(net[0][0]) == "Tanh()"
    with pytest.raises(AttributeError, match="layer Sequential: no attribute '7'"):
        net.get_submodule("0.7")


# -- calling ----------------------------------------------------------------------------------------------------------


def test_a_model_is_called_like_its_forward():
    model, x = Model(), opsdk.randn([10, 1], "float32")
    out = model(x)
    assert out.tolist() == model.forward(x).tolist()
    assert (out.shape, out.stop_gradient) == ([10, 1], True)


def test_a_layer_without_forward_says_what_is_missing():
    with pytest.raises(NotImplementedError, match=r"layer Layer: expected a forward method, .*; define forward\(self"):
        nn.Layer()(1)


def test_module_is_layer():
    assert nn.Module is nn.Layer


def test_a_layer_is_reused_in_another():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Model()

        def forward(self, x):
            return self.inner(x) * 2.0

    assert Outer()(opsdk.ones([1, 2])).tolist() == [[2.0, 2.0]]


# -- modes ------------------------------------------------------------------------------------------------------------


def test_train_and_eval_switch_everything_below():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    assert net.training
    assert net.eval() is net
    assert [layer.training for layer in net.sublayers(include_self=True)] == [False] * 4
    net.train()
    assert all(layer.training for layer in net.sublayers(include_self=True))
    net.train(False)
    assert not net.training


def test_eval_does_not_stop_gradients_but_requires_grad_does():
    net = nn.Linear(2, 1)
    net.eval()
    assert not net(opsdk.ones([1, 2])).stop_gradient
    assert net.requires_grad_(False) is net
    assert net(opsdk.ones([1, 2])).stop_gradient
    net.requires_grad_()
    with opsdk.no_grad():
        assert net(opsdk.ones([1, 2])).stop_gradient
    assert not net.weight.stop_gradient


# -- parameters -------------------------------------------------------------------------------------------------------


def test_parameters_are_named_own_first():
    model = Image()
    model.add_sublayer("fc", nn.Linear(2, 2))
    assert [name for name, _ in model.named_parameters()] == ["img", "fc.weight", "fc.bias"]
    assert [name for name, _ in model.named_parameters(include_sublayers=False)] == ["img"]
    assert [name for name, _ in model.named_parameters(prefix="net")] == ["net.img", "net.fc.weight", "net.fc.bias"]
    assert repr(model.parameters()[0]).startswith(
        "Parameter containing:\nTensor(shape=[1, 3, 4, 4], dtype=float32, place=Place(cpu), stop_gradient=False,"
    )


def test_gradients_accumulate_and_are_cleared():
    model = Image()
    out = model()
    assert out.shape == [1, 48]
    out.backward()
    model().backward()
    assert model.img.grad.numpy().sum() == 96.0
    model.clear_gradients()
    assert model.img.grad.numpy().sum() == 0.0
    model.zero_grad()
    assert model.img.grad is None
    model().backward()
    model.clear_gradients(set_to_zero=False)
    assert model.img.grad is None


def test_created_parameters_have_xavier_values_and_biases_zeros():
    layer = nn.Layer()
    opsdk.seed(0)
    weight = layer.create_parameter([100, 50])
    limit = np.sqrt(6 / 150)
    assert np.abs(weight.numpy()).max() <= limit
    assert np.abs(weight.numpy()).max() > 0.98 * limit
    assert layer.create_parameter([3], is_bias=True).tolist() == [0.0, 0.0, 0.0]
    assert layer.create_parameter([1], default_initializer=nn.initializer.Constant(4.0)).tolist() == [4.0]
    assert layer.create_parameter([1], attr=False) is None
    assert layer.create_parameter([1], dtype="float64").dtype == np.float64
    assert layer.parameters() == []


def test_parameter_names_start_with_the_layers_name():
    fc = nn.Linear(2, 2)
    assert fc.full_name().startswith("linear_")
    assert (fc.weight.name, fc.bias.name) == (f"{fc.full_name()}.w_0", f"{fc.full_name()}.b_0")
    assert nn.Layer("encoder").full_name().startswith("encoder_")
    assert nn.CrossEntropyLoss().full_name().startswith("cross_entropy_loss_")


def test_a_param_attr_says_all_about_a_parameter():
    attr = nn.ParamAttr("my_w", nn.initializer.Constant(2.0), learning_rate=0.5, trainable=False)
    weight = nn.Linear(1, 1, weight_attr=attr).weight
    assert (weight.name, weight.tolist(), weight.stop_gradient) == ("my_w", [[2.0]], True)
    assert weight.optimize_attr == {"learning_rate": 0.5}


def test_an_attr_of_another_kind_is_refused():
    with pytest.raises(
        AttributeValueError,
        match="create_parameter: attr: expected a ParamAttr, an Initializer, a name or False, got int",
    ):
        nn.Layer().create_parameter([1], attr=3)


# -- buffers ----------------------------------------------------------------------------------------------------------


class Saving(nn.Layer):
    """Keeps its last output, in a tensor that is part of its state or not."""

    def __init__(self, persistable):
        super().__init__()
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(10, 10)
        tensor = self.create_tensor(name="saved_tensor0")
        if persistable is None:
            self.saved_tensor = tensor
        else:
            self.register_buffer("saved_tensor", tensor, persistable=persistable)

    def forward(self, x):
        y = self.fc(self.flatten(x))
        opsdk.assign(y, self.saved_tensor)
        return y


@pytest.mark.parametrize("persistable", [None, False, True])
def test_a_buffer_is_listed_and_is_saved_where_it_was_said_so(persistable):
    model = Saving(persistable)
    assert str(model.buffers()) == "[Tensor(Not initialized)]"
    assert str(list(model.named_buffers())) == "[('saved_tensor', Tensor(Not initialized))]"
    out = model(opsdk.ones([2, 10]))
    assert model.saved_tensor.tolist() == out.tolist()
    assert model.saved_tensor.name == f"{model.full_name()}.saved_tensor0"
    assert ("saved_tensor" in model.state_dict()) is (persistable is True)


def test_a_buffer_is_replaced_by_a_tensor_and_removed_by_none():
    layer = nn.Layer()
    layer.register_buffer("running_mean", opsdk.zeros([3]))
    layer.running_mean = opsdk.ones([3])
    assert list(layer.state_dict()) == ["running_mean"]
    assert layer.running_mean.tolist() == [1.0, 1.0, 1.0]
    layer.running_mean = None
    assert layer.buffers() == []
    layer.register_buffer("nothing", None)
    assert layer.nothing is None


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("a.b", None, AttributeValueError, r"register_buffer: expected a name without '.', got 'a.b'"),
        ("", None, AttributeValueError, "register_buffer: expected a name without '.', got ''"),
        (3, None, AttributeValueError, "register_buffer: expected a name without '.', got 3"),
        (
            "fc",
            None,
            NameClashError,
            "register_buffer 'fc': expected a name that is free, layer Saving has an attribute",
        ),
        ("b", np.zeros(2), AttributeValueError, "register_buffer 'b': expected a Tensor or None, got ndarray"),
    ],
)
def test_register_buffer_refuses(name, value, error, text):
    with pytest.raises(error) as caught:
        Saving(True).register_buffer(name, value)
    assert str(caught.value).startswith(text)


# -- misuse -----------------------------------------------------------------------------------------------------------


def test_super_init_comes_first():
    class Forgetful(nn.Layer):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    with pytest.raises(
        AttributeValueError, match=r"layer Forgetful: expected super\(\).__init__\(\) before attribute 'fc' is set"
    ):
        Forgetful()

    class Adding(nn.Layer):
        def __init__(self):
            self.add_sublayer("fc", nn.Linear(1, 1))

    with pytest.raises(AttributeValueError, match=r"add_sublayer 'fc': expected super\(\).__init__\(\) to have been"):
        Adding()

    class Reading(nn.Layer):
        def __init__(self):
            self.fc  # noqa: B018

    with pytest.raises(AttributeError, match=r"no attribute 'fc'; super\(\).__init__\(\) was not called"):
        Reading()


def test_what_is_no_layer_is_not_added():
    with pytest.raises(AttributeValueError, match="add_sublayer 'fc': expected a Layer, got int"):
        Model().add_sublayer("fc", 3)


def test_what_is_no_parameter_is_not_added():
    with pytest.raises(AttributeValueError, match="add_parameter 'x': expected a Parameter or None, got Tensor"):
        Model().add_parameter("x", opsdk.ones([1]))
    model = Model()
    assert model.add_parameter("x", None) is None
    assert model.x is None
    assert model.parameters() == []


@pytest.mark.parametrize("value", [np.zeros((1, 1)), 3, opsdk.ones([1, 1])])
def test_a_parameter_is_not_replaced_by_something_else(value):
    fc = nn.Linear(1, 1)
    with pytest.raises(
        AttributeValueError,
        match=f"layer Linear, attribute 'weight': expected a Parameter or None, got {type(value).__name__}",
    ):
        fc.weight = value
    assert isinstance(fc.weight, nn.Parameter)


def test_a_sublayer_is_not_replaced_by_something_else():
    with pytest.raises(AttributeValueError, match="attribute 'flatten': expected a Layer or None, got int"):
        Model().flatten = 3


def test_a_missing_attribute_is_named():
    with pytest.raises(AttributeError, match="layer Model: no attribute 'zzz'"):
        Model().zzz  # noqa: B018


# -- attributes -------------------------------------------------------------------------------------------------------


def test_attributes_are_replaced_removed_and_deleted():
    fc = nn.Linear(1, 1)
    fc.bias = None
    assert [name for name, _ in fc.named_parameters()] == ["weight"]
    del fc.weight
    assert not hasattr(fc, "weight")
    fc.weight = nn.Linear(1, 1)
    assert len(fc.sublayers()) == 1
    fc.scale = 3
    assert fc.scale == 3
    del fc.scale
    assert not hasattr(fc, "scale")


def test_a_plain_attribute_becomes_a_parameter_when_it_is_given_one():
    layer = nn.Layer()
    layer.w = None
    layer.w = nn.Parameter([1.0])
    assert [name for name, _ in layer.named_parameters()] == ["w"]


def test_dir_lists_what_is_registered():
    assert {"flatten"} <= set(dir(Model()))
    assert {"weight", "bias"} <= set(dir(nn.Linear(1, 1)))


def test_a_deep_copy_is_trained_apart():
    net = nn.Sequential(nn.Linear(2, 1))
    twin = copy.deepcopy(net)
    twin[0].weight.set_value([[7.0], [7.0]])
    assert net[0].weight.tolist() != [[7.0], [7.0]]
    assert twin(opsdk.ones([1, 2])).tolist() == [[14.0]]


# -- casting ----------------------------------------------------------------------------------------------------------


def test_casting_changes_floats_only():
    net = nn.Linear(2, 2)
    net.register_buffer("count", opsdk.to_tensor([1]))
    net.register_buffer("phase", opsdk.to_tensor(np.array([0.5 + 2j])))
    net(opsdk.ones([1, 2])).backward()
    assert net.to(dtype="float64") is net
    assert net.phase.tolist() == [0.5 + 2j]
    assert (net.weight.dtype, net.count.dtype) == (np.float64, np.int64)
    assert (net.weight.grad.dtype, net.weight.grad.tolist()) == (np.float64, [[1.0, 1.0], [1.0, 1.0]])
    assert repr(net) == "Linear(in_features=2, out_features=2, dtype=float64)"
    net.clear_gradients()
    net(opsdk.ones([1, 2], "float64")).backward()
    assert net.weight.grad.dtype == np.float64


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [
        (lambda net: net.double(), "float64"),
        (lambda net: net.double().float(), "float32"),
        (lambda net: net.half(), "float16"),
        (lambda net: net.bfloat16(), "bfloat16"),
        (lambda net: net.astype("float64"), "float64"),
        (lambda net: net.to("float64"), "float64"),
        (lambda net: net.to(np.float64), "float64"),
        (lambda net: net.to("cpu", "float64"), "float64"),
        (lambda net: net.to(opsdk.CPUPlace()).cpu(), "float32"),
    ],
)
def test_casts(cast, dtype):
    assert cast(nn.Linear(1, 1)).bias.dtype.name == dtype


def test_casting_to_whole_numbers_is_refused():
    with pytest.raises(DTypeError, match=r"Layer.to: expected a floating dtype, got int64"):
        nn.Linear(1, 1).to("int64")
    with pytest.raises(DTypeError, match=r"Layer.astype: expected a floating dtype, got bool"):
        nn.Linear(1, 1).astype("bool")


@pytest.mark.skipif(can_run(), reason="a device is there")
@pytest.mark.parametrize(
    "move",
    [
        lambda net: net.to("cuda", "float64"),
        lambda net: net.to(device="gpu:0", dtype="float64"),
        lambda net: net.cuda().double(),
        lambda net: net.cuda(device=opsdk.CUDAPlace(1)).double(),
    ],
)
def test_a_device_that_is_not_there_is_said_and_nothing_changes(move):
    net = nn.Linear(1, 1)
    with pytest.raises((PlaceError, ImportError), match=r"Layer.to.*(?i:cuda|cupy)"):
        move(net)
    assert net.weight.dtype == np.float32
    assert net(opsdk.ones([1, 1])).shape == [1, 1]


@pytest.mark.parametrize("name", ["tpu", 3])
def test_what_names_no_place_is_refused(name):
    with pytest.raises(PlaceError, match=f"Layer.to: device expected 'cpu', 'cuda', 'cuda:0' or a place, got {name!r}"):
        nn.Linear(1, 1).to(device=name)


@pytest.mark.parametrize("name", ["cpu", "float32", True])
def test_what_names_no_cuda_device_is_refused(name):
    with pytest.raises(PlaceError, match=f"Layer.cuda: device expected a number, 'cuda:0' or .*, got {name!r}"):
        nn.Linear(1, 1).cuda(name)


def test_a_tensor_says_place_and_dtype():
    other = opsdk.zeros([1], "float64")
    assert nn.Linear(1, 1).to(other).weight.dtype == nn.Linear(1, 1).to("cpu", other, True).weight.dtype == np.float64


# -- printing ---------------------------------------------------------------------------------------------------------


def test_extra_repr_stands_on_the_first_line():
    class Named(nn.Layer):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def extra_repr(self):
            return "k=3"

    assert repr(Named()) == "Named(k=3\n  (act): ReLU()\n)"


@pytest.mark.parametrize("register", ["add_sublayer", "add_parameter", "register_buffer"])
@pytest.mark.parametrize("name", ["a.b", "", 3])
def test_a_name_that_is_none_is_the_builtin_error_that_paddle_has(register, name):
    value = {"add_sublayer": nn.ReLU(), "add_parameter": None, "register_buffer": None}[register]
    with pytest.raises(KeyError, match=f"{register}: expected a name without") as error:
        getattr(nn.Layer(), register)(name, value)
    assert isinstance(error.value, (TypeError, ValueError))


def test_a_name_that_is_taken_is_a_key_error():
    with pytest.raises(KeyError, match="register_buffer 'weight': expected a name that is free"):
        nn.Linear(1, 1).register_buffer("weight", opsdk.ones([1]))


def test_a_strict_set_sublayer_replaces_only():
    made = nn.Sequential(nn.Linear(1, 1))
    made.set_sublayer("0", nn.ReLU(), strict=True)
    assert str(made[0]) == "ReLU()"
    with pytest.raises(AttributeError, match="no attribute 'more'"):
        made.set_sublayer("more", nn.ReLU(), strict=True)


def test_a_buffer_that_is_not_persistent_is_left_out_of_the_state():
    layer = nn.Layer()
    layer.register_buffer("kept", opsdk.ones([1]), persistent=True)
    layer.register_buffer("left", opsdk.ones([1]), persistent=False)
    assert list(layer.state_dict()) == ["kept"]


def test_what_a_layer_has_and_has_not_is_printed():
    assert repr(nn.Linear(2, 3, bias=False)) == "Linear(in_features=2, out_features=3, dtype=float32, bias=False)"
    listed = nn.ParameterList([nn.Parameter(np.ones((2, 3), "float32")), nn.Parameter(np.ones(1))])
    assert repr(listed) == "ParameterList(\n  (0): Parameter [2, 3], float32\n  (1): Parameter [1], float64\n)"
    assert repr(nn.ParameterDict({"a": nn.Parameter(np.ones(1))})) == "ParameterDict(\n  (a): Parameter [1], float64\n)"
    assert repr(nn.ParameterList()) == "ParameterList()"

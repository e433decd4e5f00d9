"""The document on hooks and the dropout that is plugged in: its statements, its examples, its own program."""

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from tests.documents.extracted import lines_of, part


class Pointwise(nn.Layer):
    """A convolution of single pixels, of maps (N, C, H, W), and ReLU."""

    def __init__(self, taken, given):
        super().__init__()
        self.map = nn.Linear(taken, given)

    def forward(self, x):
        return nn.functional.relu(self.map(x.transpose([0, 2, 3, 1]))).transpose([0, 3, 1, 2])


class SmallNet(nn.Layer):
    """Where the document has a ResNet-18: maps in, 100 classes out, with a layer3 and a layer4."""

    def __init__(self):
        super().__init__()
        self.layer3 = Pointwise(3, 16)
        self.layer4 = Pointwise(16, 32)
        self.fc = nn.Linear(32, 100)

    def forward(self, x):
        return self.fc(self.layer4(self.layer3(x)).mean(axis=[2, 3]))


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()

    def forward(self, x):
        return self.flatten(x)


@pytest.fixture
def images():
    opsdk.seed(2)
    return opsdk.rand([1, 3, 8, 8])


def dropping(net, p=0.3):
    return nn.PlugIn(net, {"layer4": nn.Dropout2D(p), "layer3": nn.Dropout2D(p)})


def scores(net, x, times=5):
    return [net(x).numpy().tolist() for _ in range(times)]


# -- what hooks there are ---------------------------------------------------------------------------------------------


def test_c01_a_layer_has_a_pre_and_a_post_hook():
    seen = []
    layer = nn.Flatten()
    layer.register_forward_pre_hook(lambda layer, inputs: seen.append(("pre", len(inputs))))
    layer.register_forward_post_hook(lambda layer, inputs, output: seen.append(("post", output.shape[0])))
    layer(opsdk.ones([10, 1]))
    assert seen == [("pre", 1), ("post", 10)]


def test_c02_a_tensor_has_a_hook_of_its_gradient():
    seen = []
    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    x.register_hook(lambda grad: seen.append(grad.numpy().tolist()))
    y = x * 3.0
    assert seen == []
    y.sum().backward()
    assert seen == [[3.0, 3.0]]


def test_c03_a_pre_hook_changes_what_goes_in_until_its_handle_removes_it():
    model = Model()
    handle = model.flatten.register_forward_pre_hook(lambda layer, inputs: inputs[0] + 1.0)
    assert model(opsdk.ones([10, 1])).numpy().tolist() == [[2.0]] * 10
    handle.remove()
    assert model(opsdk.ones([10, 1])).numpy().tolist() == [[1.0]] * 10


def test_c04_a_post_hook_doubles_what_comes_out_until_its_handle_removes_it():
    model = Model()
    handle = model.flatten.register_forward_post_hook(lambda layer, inputs, output: 2 * output)
    assert model(opsdk.ones([10, 1])).numpy().tolist() == [[2.0]] * 10
    handle.remove()
    assert model(opsdk.ones([10, 1])).numpy().tolist() == [[1.0]] * 10


def document():
    """o = z · (x + y) of the document, with its four-element tensors."""
    x, y, z = (
        opsdk.to_tensor(np.array(values, "float32"), stop_gradient=False)
        for values in ([0, 1, 2, 3], [4, 5, 6, 7], [1, 2, 3, 4])
    )
    return x, y, z


def test_c05_a_tensor_hook_runs_for_each_gradient_and_may_return_another_one():
    x, y, z = document()
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))  # None keeps the gradient
    y.register_hook(lambda grad: grad * 2)  # another one goes on
    for _ in range(2):
        z.matmul(x + y).backward()
    assert seen == [[1.0, 2.0, 3.0, 4.0]] * 2
    assert x.grad.tolist() == [2.0, 4.0, 6.0, 8.0]
    assert y.grad.tolist() == [4.0, 8.0, 12.0, 16.0]


def test_c06_several_hooks_run_in_order_and_are_removed():
    x, y, z = document()
    order = []
    first = x.register_hook(lambda grad: order.append("first") or grad + 1)
    x.register_hook(lambda grad: order.append("second") or grad * 10)
    z.matmul(x + y).backward()
    assert order == ["first", "second"]
    assert x.grad.tolist() == [20.0, 30.0, 40.0, 50.0]
    assert first.remove() is True
    assert first.remove() is False
    x.clear_grad()
    z.matmul(x + y).backward()
    assert order == ["first", "second", "second"]
    assert x.grad.tolist() == [10.0, 20.0, 30.0, 40.0]


def test_c07_the_example_of_the_document_prints_and_gives_what_it_says(capsys):
    x, y, z = document()

    def print_hook(grad):
        print(grad.numpy())

    def double_hook(grad):
        return grad * 2

    x.register_hook(print_hook)
    x.register_hook(double_hook)
    w = x + y
    w.register_hook(lambda grad: grad * 2)
    z.matmul(w).backward()
    assert capsys.readouterr().out == "[2. 4. 6. 8.]\n"
    assert x.grad.tolist() == [4.0, 8.0, 12.0, 16.0]
    assert y.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_c08_an_interior_tensor_has_its_gradient_where_it_was_asked_to_retain_it():
    x, y, z = document()
    w = x + y
    v = x * 1
    w.retain_grads()
    w.register_hook(lambda grad: grad * 2)
    (z.matmul(w) + v.sum()).backward()
    assert w.grad.tolist() == [1.0, 2.0, 3.0, 4.0]  # as the document has it
    assert v.grad is None


def test_c05_a_hook_may_not_change_the_gradient_that_it_gets():
    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    x.register_hook(lambda grad: [grad.fill_(7.0)].clear())
    with pytest.raises(errors.HookError, match="expected its gradient untouched, it was changed in place"):
        (x * 3.0).sum().backward()
    assert x.grad is None


# -- the dropout that is plugged in -----------------------------------------------------------------------------------


def test_c09_plugs_work_at_any_layer_while_the_net_trains_and_are_gone_while_it_is_evaluated(images):
    net = SmallNet()
    bare = net(images).numpy().tolist()
    calls = []
    plugged = nn.PlugIn(net, {"layer4": nn.Dropout2D(0.3), "fc": lambda y: calls.append(1) or y})
    assert plugged.training
    plugged(images)
    assert len(calls) == 1
    plugged.eval()
    assert plugged(images).numpy().tolist() == bare
    assert len(calls) == 1
    assert plugged.parameters() == net.parameters()
    assert list(plugged.state_dict()) == list(net.state_dict())
    other = nn.PlugIn(SmallNet(), {"layer4": nn.Dropout2D(0.3)}).eval()
    assert other.set_state_dict(net.state_dict()) == ([], [])
    assert other(images).numpy().tolist() == bare


def test_c10_an_end_that_is_none_is_an_error_of_value_and_type_that_says_so():
    wanted = "PlugIn: at expected output or input, got 'forwar_post_hook'"
    for kind in (ValueError, TypeError):
        with pytest.raises(kind, match=wanted):
            nn.PlugIn(SmallNet(), {"layer4": nn.Dropout2D(0.3)}, at="forwar_post_hook")


def test_c11_training_twice_plugs_in_once(images):
    calls = []
    plugged = nn.PlugIn(SmallNet(), {"layer4": lambda y: calls.append(1) or y})
    plugged.train().train().eval().eval().train()
    plugged(images)
    assert len(calls) == 1


def test_c12_named_parameters_are_pairs_under_the_names_of_the_net():
    net = SmallNet()
    assert list(dropping(net).named_parameters()) == list(net.named_parameters())
    assert [name for name, _ in dropping(net).named_parameters()][:2] == ["layer3.map.weight", "layer3.map.bias"]


def test_c13_train_and_eval_take_the_mode_set_it_everywhere_and_return_the_layer():
    net = SmallNet()
    plugged = dropping(net)
    assert plugged.eval() is plugged
    assert not any(layer.training for layer in (plugged, net, net.layer4, plugged.plugs[0]))
    assert plugged.train(False) is plugged
    assert plugged.train(mode=True) is plugged
    assert all(layer.training for layer in (plugged, net, net.layer4, plugged.plugs[0]))


def test_c14_dropout2d_sets_whole_maps_of_the_document_to_zero():
    opsdk.seed(3)
    made = nn.Dropout2D(p=0.3)(opsdk.ones([4, 32, 5, 5])).numpy()
    maps = made.reshape(128, 25)
    assert ((maps == maps[:, :1]).all(), sorted({*maps[:, 0].tolist()})) == (True, [0.0, np.float32(1 / 0.7)])
    assert 0.2 < (maps[:, 0] == 0).mean() < 0.4


def test_c15_outputs_in_training_all_differ_and_in_evaluation_are_one(images):
    plugged = dropping(SmallNet())
    made = scores(plugged, images)
    assert all(a != b for i, a in enumerate(made) for b in made[:i])
    plugged.eval()
    made = scores(plugged, images)
    assert made == [made[0]] * 5


@pytest.mark.parametrize("mode", [False, True])
def test_c16_it_is_trained_like_any_model_in_either_mode(mode):
    opsdk.seed(4)
    plugged = dropping(SmallNet()).train(mode)
    optim = opsdk.optimizer.Adam(parameters=plugged.parameters(), learning_rate=0.02)
    loss_fn = nn.CrossEntropyLoss()
    x = opsdk.rand([10, 3, 8, 8])
    label = opsdk.to_tensor(np.arange(10).reshape(10, 1) * 7)
    losses = []
    for _ in range(10):
        predicts = plugged(x)
        loss = loss_fn(predicts, label)
        share = opsdk.metric.accuracy(predicts, label)
        loss.backward()
        optim.step()
        optim.clear_grad()
        losses.append(loss.item())
    assert 0.0 <= share.item() <= 1.0
    assert losses[-1] < losses[0] - 0.5


def test_c17_item_of_a_loss_is_a_number():
    value = nn.CrossEntropyLoss()(opsdk.zeros([2, 4]), opsdk.to_tensor([[1], [2]])).item()
    assert isinstance(value, float)
    assert value == pytest.approx(np.log(4.0))


# -- the document's own program ---------------------------------------------------------------------------------------

# The document has lost its indentation: by its first line how deep each line of a part is.
PARTS = {
    "import paddle.nn as nn": "001222222211223434343112231" + "12" + "112" * 4 + "000011" * 2 + "0" * 9,
    "test_data=paddle.rand(shape=(1,3,224,224))": "00001100011",
    "# 设置优化器": "0000000" + "1" * 11,
}
EDITS = [  # the import; where the document has a ResNet-18, whose convolutions are slow; what is made at random
    ("import paddle.nn as nn", "from opsdk import nn"),
    ("paddle.vision.resnet18()", "SmallNet()"),
    ("224,224", "8,8"),
    ("paddle.randint(low=0, high=100, shape=[10,1])", "paddle.to_tensor(np.arange(10).reshape(10, 1) * 7)"),
]


def parts():
    """The three parts of the document's program, indented and edited."""
    lines = lines_of("002")
    return [part(lines, first, depths, edits=EDITS)[0] for first, depths in PARTS.items()]


def test_the_program_of_the_document_runs(capsys):
    opsdk.seed(5)
    define, use, train = parts()
    names = {"paddle": opsdk, "SmallNet": SmallNet, "np": np}
    exec(define, names)
    exec(use, names)
    printed = capsys.readouterr().out.splitlines()
    training, evaluation = printed[1:6], printed[8:13]
    assert (printed[0], printed[7]) == ("drop_model in train mode:", "drop_model in eval mode:")
    assert len(set(training)) > 1
    assert len(set(evaluation)) == 1
    exec(train, names)  # evaluated, as the document leaves it
    losses = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 10
    assert losses[-1] < losses[0]


def test_the_mistakes_of_the_documents_class_are_what_they_were(images):
    names = {"paddle": opsdk, "SmallNet": SmallNet, "np": np}
    exec(parts()[0], names)
    made, net = names["DropHookModel"], SmallNet()
    calls = []
    hook = lambda layer, inputs, output: calls.append(1)  # noqa: E731 - as the document has functions
    model = made(net, [net.layer4], [hook], ["forwar_post_hook"])
    model(images)
    model.train()  # ERR: hooks are added once more
    model(images)
    assert len(calls) == 1 + 2
    assert list(model.named_parameters()) == net.parameters()  # ERR: no names
    assert model.eval() is None  # ERR: and its own mode stays
    assert model.training
    with pytest.raises(TypeError, match="exceptions must derive from BaseException"):
        made(net, [net.layer4], [hook], ["post"])

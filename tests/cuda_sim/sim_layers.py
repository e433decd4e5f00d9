"""Layers at the simulated device: how they get there, what moves with them, what is saved, what may not be mixed."""

import copy
import pickle

import numpy as np
import pytest

import opsdk
import opsdk.nn.functional as F
from opsdk import nn, static
from opsdk.core.errors import AttributeValueError, MixedRuntimeError, PlaceError, ProgramError
from tests.contracts.tree import REPOSITORY

GPU, CPU = opsdk.CUDAPlace(0), opsdk.CPUPlace()


def places(layer):
    return {each.place for each in (*layer.parameters(), *layer.buffers())}


@pytest.mark.parametrize(
    "move",
    [
        lambda net: net.to(GPU),
        lambda net: net.to("gpu"),
        lambda net: net.to("cuda:0", None, True),
        lambda net: net.to(device="cuda", non_blocking=True),
        lambda net: net.to(opsdk.ones([1]).cuda()),
        lambda net: net.cuda(),
        lambda net: net.cuda(0, blocking=True),
        lambda net: net.cuda(device="cuda:0"),
    ],
)
def test_a_layer_moves_in_every_spelling_and_back(move):
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1D(1))
    assert move(net) is net
    assert places(net) == {GPU}
    assert net.cpu() is net
    assert places(net) == {CPU}


def test_place_and_dtype_are_said_at_once():
    net = nn.Linear(2, 1).to("cuda", "float64")
    assert (net.weight.place, net.weight.dtype, net.bias.dtype) == (GPU, np.float64, np.float64)
    assert net.to("cpu", dtype="float32").weight.dtype == np.float32
    with pytest.raises(PlaceError, match=r"Layer.to: expected CUDAPlace\(0\), the one device that is simulated, got"):
        net.to("cuda:1", "float64")
    assert (net.weight.place, net.weight.dtype) == (CPU, np.float32)


def test_parameters_stay_the_objects_that_they_are():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2))
    net[0].bias.stop_gradient = True
    net.add_sublayer("tied", nn.Linear(2, 2))
    net.tied.weight = net[0].weight
    before, values = list(net.parameters()), [each.numpy() for each in net.parameters()]
    seen = []
    net[0].weight.register_hook(lambda grad: seen.append(grad.place))
    net.cuda()
    assert all(one is other for one, other in zip(before, net.parameters(), strict=True))
    assert net.tied.weight is net[0].weight
    for each, value in zip(before, values, strict=True):
        assert isinstance(each, nn.Parameter)
        np.testing.assert_array_equal(each.numpy(), value)
    assert (before[0].trainable, before[1].trainable) == (True, False)
    net[0](opsdk.ones([1, 2]).cuda()).sum().backward()
    assert seen == [GPU]
    assert repr(net.cpu()[0].weight).startswith(
        "Parameter containing:\nTensor(shape=[2, 2], dtype=float32, place=Place(c"
    )


def test_gathered_gradients_come_along_and_count():
    net = nn.Linear(2, 1, bias_attr=False)
    x = opsdk.to_tensor(np.array([[1.0, 2.0]], np.float32))
    net(x).backward()
    net.cuda()(x.cuda()).backward()
    assert (net.weight.grad.place, net.weight.grad.tolist()) == (GPU, [[2.0], [4.0]])
    net.clear_gradients()
    assert net.cpu().weight.grad.tolist() == [[0.0], [0.0]]


def test_the_state_of_an_optimizer_follows_its_parameters():
    def after(*where):
        opsdk.seed(1)
        net = nn.Linear(2, 1)
        optimizer = opsdk.optimizer.Adam(0.1, parameters=net.parameters())
        for place in where:
            net.to(place)
            net(opsdk.ones([1, 2]).to(place)).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
            assert optimizer.state_dict()["weight.moment1"].place == place
        return net.weight.numpy()

    np.testing.assert_allclose(after(CPU, GPU, CPU), after(CPU, CPU, CPU), rtol=1e-6)


def test_what_is_saved_at_one_place_is_loaded_at_that_of_the_layer(tmp_path):
    def made(place):
        net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2)).to(place)
        optimizer = opsdk.optimizer.Momentum(0.1, parameters=net.parameters())
        net(opsdk.to_tensor(np.eye(2, dtype="float32"), place=place))[0, 0].backward()
        optimizer.step()
        return net, optimizer

    for source, target in ((GPU, CPU), (CPU, GPU), (GPU, GPU)):
        (net, optimizer), (other, its) = made(source), made(target)
        opsdk.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "x.opsdk")
        state = opsdk.load(tmp_path / "x.opsdk")
        assert state["net"]["0.weight"].place == CPU
        assert other.set_state_dict(state["net"]) == ([], [])
        its.set_state_dict(state["optimizer"])
        assert places(other) == {target}
        for name, held in net.state_dict().items():
            np.testing.assert_array_equal(other.state_dict()[name].numpy(), held.numpy())
        velocity = its.state_dict()["0.weight.velocity"]
        assert velocity.place == target
        np.testing.assert_array_equal(velocity.numpy(), optimizer.state_dict()["0.weight.velocity"].numpy())
    opsdk.save(net, tmp_path / "whole.opsdk")
    assert places(opsdk.load(tmp_path / "whole.opsdk")) == {CPU}
    np.testing.assert_array_equal(net.to_torch_state_dict(numpy=True)["0.bias"], net[0].bias.numpy())


def test_the_page_does_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (REPOSITORY / "docs" / "kernels_cuda.md").read_text(encoding="utf-8")
    code = page.partition("## Layers and optimizers at a CUDA place")[2].split("```py\n")[1].split("```")[0]
    made = {"opsdk": opsdk}
    exec(code, made)
    assert places(made["net"]) == {CPU}


def test_copies_and_pickles_stay_there():
    net = nn.Linear(1, 1).cuda()
    for same in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert places(same) == {GPU}
        assert isinstance(same.weight, nn.Parameter)
        assert same.weight.tolist() == net.weight.tolist()


def test_a_parameter_is_where_the_data_is_that_it_is_made_of():
    made = nn.Parameter(opsdk.ones([2]).cuda())
    assert (made.place, isinstance(made, nn.Parameter), made.trainable) == (GPU, True, True)
    unset = nn.Layer().create_tensor(dtype="float64")
    opsdk.assign(opsdk.ones([2]).cuda(), unset)
    assert (unset.place, unset.dtype, unset.tolist()) == (GPU, np.float64, [1, 1])


def test_a_users_own_kind_of_parameter_keeps_its_kind():
    class Scaled(nn.Parameter):
        def doubled(self):
            return self * 2.0

    net = nn.Layer()
    net.scale = Scaled([1.5])
    net.cuda()
    assert (isinstance(net.scale, Scaled), net.scale.doubled().place) == (True, GPU)
    assert type(net.cpu().scale) is Scaled


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: nn.Linear(2, 1).cuda()(opsdk.ones([1, 2])), "opsdk::matmul"),
        (lambda: nn.Linear(2, 1)(opsdk.ones([1, 2]).cuda()), "opsdk::matmul"),
        (lambda: nn.Conv2D(1, 1, 1).cuda()(opsdk.ones([1, 1, 1, 1])), "opsdk::conv"),
        (lambda: nn.Embedding(2, 1).cuda()(opsdk.zeros([1], "int64")), "opsdk::embedding"),
        (lambda: nn.BatchNorm1D(2).cuda()(opsdk.ones([2, 2])), "opsdk::batch_norm"),
        (lambda: nn.LSTM(1, 1).cuda()(opsdk.ones([1, 1, 1])), "opsdk::"),
        (lambda: F.cross_entropy(opsdk.ones([1, 2]).cuda(), opsdk.zeros([1], "int64")), "opsdk::"),
    ],
)
def test_places_that_do_not_fit_are_told_at_the_call(call, named):
    with pytest.raises((PlaceError, MixedRuntimeError), match=named) as caught:
        call()
    assert "Place(cuda:0)" in str(caught.value) or "CUDA tensors and dynamic tensors" in str(caught.value)


def test_gradients_go_through_moves_and_so_do_their_own():
    x = opsdk.to_tensor(np.array([1.0, 2.0]), stop_gradient=False)
    y = (x.cuda() * 3.0).cpu() * x
    y.sum().backward()
    assert (y.place, x.grad.place, x.grad.tolist()) == (CPU, CPU, [6.0, 12.0])
    (first,) = opsdk.grad((x.to("cuda", "float32") ** 3.0).to(x).sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    assert (second.place, second.dtype, second.tolist()) == (CPU, np.float64, [6.0, 12.0])
    with opsdk.no_grad():
        assert x.cuda().stop_gradient
    assert not x.cuda().is_leaf
    assert opsdk.ones([1], device="cuda", requires_grad=True).is_leaf


def test_a_tensor_moves_in_every_spelling():
    x = opsdk.ones([1])
    for move in (
        lambda: x.cuda(),
        lambda: x.cuda(0, True),
        lambda: x.cuda("gpu:0"),
        lambda: x.cuda(device=GPU, non_blocking=True),
        lambda: x.to("cuda", "float32", True),
        lambda: x.to(GPU, blocking=True),
    ):
        assert move().place == GPU
    assert opsdk.zeros_like(x.cuda()).place == opsdk.full_like(x.cuda(), 2.0).place == GPU


def test_data_of_another_place_is_refused():
    x = opsdk.ones([1])
    with pytest.raises(
        AttributeValueError, match=r"data: expected a tensor of float32 \[1\] at Place\(cpu\), got .*cuda"
    ):
        x.data = x.cuda()


def test_a_program_runs_in_host_memory_and_says_so():
    with pytest.raises(ProgramError, match=r"Executor: place expected CPUPlace\(\), got Place\(cuda:0\); Programs run"):
        static.Executor(GPU)
    net, main, startup = nn.Linear(2, 1), static.Program(), static.Program()
    refused = r"parameter .*: expected host memory, where Programs run, got Place\(cuda:0\); use layer.cpu\(\)"
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        y = net(x)
        with pytest.raises(PlaceError, match=refused):
            nn.Linear(2, 1).cuda()(x)
    exe, feed = static.Executor(), {"x": np.ones((1, 2), np.float32)}
    exe.run(startup)
    (first,) = exe.run(main, feed=feed, fetch_list=[y])
    net.cuda()
    for program in (main, startup):
        with pytest.raises(PlaceError, match=refused):
            exe.run(program, feed=feed if program is main else {}, fetch_list=[y] if program is main else [])
    net.cpu()
    np.testing.assert_array_equal(exe.run(main, feed=feed, fetch_list=[y])[0], first)

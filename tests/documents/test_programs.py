"""The programs of documents 000, 001 and 004 as they stand there, but for the edits that are named."""

import math

import numpy as np

import opsdk
from opsdk import nn
from tests.documents.extracted import edited, is_like, lines_of, part, unfolded

# -- 000: models and layers -------------------------------------------------------------------------------------------

MODEL, MADE = "class Model(paddle.nn.Layer):", "model = Model()"
# First line, which of the lines like it, the depth of each line, how many lines of output stand behind it.
LAYERS = [
    (MODEL, 0, "0122122", 0),
    (MADE, 0, "00001", 3),
    ("fc = paddle.nn.Linear(10, 3)", 0, "000", 1),
    ("def function(layer):", 0, "010", 6),
    ("sublayer_iter = model.children()", 0, "001", 2),
    (MODEL, 1, "012222122", 0),
    (MADE, 1, "00001", 7),
    (MADE, 2, "0000", 0),
    (MODEL, 2, "012222122222", 0),
    (MODEL, 3, "0122222122222", 0),
    (MADE, 3, "0001", 2),
    (MODEL, 4, "0122122", 0),
    ("x = paddle.randn([10, 1], 'float32')", 0, "000000", 0),
    (MADE, 5, "0000", 2),
    ("def forward_post_hook(layer, input, output):", 0, "0100000", 4),
    ("def forward_pre_hook(layer, input):", 0, "0110000", 11),
    (MADE, 8, "000", 0),
    (MADE, 9, "000", 0),
]
EDITS = [("\nmodel.parameters()\n", "\nprint(model.parameters())\n")]  # ERR: what stands behind it is printed
SHOWN = [("CUDAPlace(0)", "CPUPlace")]  # ERR: one of the outputs is of another machine than the others


def test_the_program_of_document_000_runs_and_prints_what_stands_there(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines, names = lines_of("000"), {"paddle": opsdk}
    for first, which, depths, shown in LAYERS:
        text, behind = part(lines, first, depths, which, EDITS)
        exec(text, names)
        printed = capsys.readouterr().out.replace("Place(cpu)", "CPUPlace")
        wanted = edited("\n".join(lines[behind : behind + shown]), SHOWN).splitlines()
        assert not shown or is_like(printed, wanted), f"{text}\n{printed}"
    assert (tmp_path / "paddle_dy.pdparams").exists()


# -- 001: PyTorch's modules -------------------------------------------------------------------------------------------

MODULES = {
    "built": [
        ("class MyNet(nn.Module):", 0, "012212200"),
        ("net = nn.Sequential(", 0, "00000"),
        ("layers = []", 0, "0000"),
        ("from collections import OrderedDict", 0, "000000"),
        ("self.encode = nn.ModuleList()", 0, "0000"),
        ("net = nn.ModuleDict({", 0, "000000"),
        ("self.params = nn.ParameterList([nn.Parameter(torch.randn(4, 4)) for i in range(3)])", 0, "0"),
        ("self.params = nn.ParameterDict({", 0, "0000"),
        ("nn.Linear(num_inputs, num_outputs)", 0, "00"),
    ],
    "looked at": [
        ("net = nn.Sequential()", 0, "0000000"),
        ("print(net)", 1, "00"),
        ("X = torch.rand((N, C, H, W))", 0, "0011"),
    ],
    "initialized": [
        ("module.weight.data.fill_(0)", 0, "0"),
        ("nn.init.xavier_uniform(conv1.weight)", 0, "000"),
        ("for name, param in net.named_parameters():", 0, "01212"),
        ("@torch.no_grad()", 0, "00112222122300"),
        ("def xavier_uniform_(tensor: Tensor, gain: float = 1.) -> Tensor:", 0, "01111"),
        ("def _no_grad_uniform_(tensor, a, b):", 0, "012"),
    ],
    "evaluated": [
        ('model.load_state_dict(torch.load("the path of model\'s pth file"))', 0, "0"),
        ("model.eval()", 0, "0"),
        ("def toggle_grad(model, on_or_off):", 0, "012001"),
        ("predict = model(x)", 0, "0"),
        ("model.train()", 0, "0"),
        ("torch.save(model, PATH)", 0, "00"),
    ],
}
MODULE_EDITS = [
    ("nn.Linear(...)", "nn.Linear(2, 2)"),  # ERR, and the next two: what is left out has to be there
    ("nn.ConvTranspose2d(...)", "nn.ConvTranspose2d(1, 2, 3)"),
    ("nn.InstanceNorm2d(...)", "nn.InstanceNorm2d(2)"),
    ("nn.init.norm_", "nn.init.normal_"),  # ERR: no function of either library is called so
    ("(m.weight)", "(module.weight)"),  # ERR, and the next: the function's argument has another name
    ("m.bias", "module.bias"),
]


def run_001(chapter, **names):
    """Runs a chapter of document 001; gives its names."""
    names = {"nn": nn, "torch": opsdk, "init": nn.init, **names}
    lines = lines_of("001")
    for first, which, depths in MODULES[chapter]:
        text, _ = part(lines, first, depths, which, MODULE_EDITS)
        exec(text, names)
    return names


def test_the_models_of_document_001_are_built(capsys):
    sizes = {"num_feature": 4, "dim_in": 3, "dim_out": 2, "num_inputs": 3, "num_outputs": 2}
    made = run_001("built", self=nn.Module(), ResBlk=nn.Linear, AdainResBlk=nn.Linear, **sizes)
    printed = capsys.readouterr().out
    assert printed.startswith("MyNet(")
    assert "(linear): Linear(in_features=4, out_features=1" in printed
    assert [type(layer).__name__ for layer in made["layers"]] == ["ConvTranspose2d", "InstanceNorm2d"]
    assert list(made["net"].keys()) == ["linear", "act", "output"]
    own = {name: list(value.shape) for name, value in made["self"].named_parameters()}
    assert own == {
        "encode.0.weight": [3, 2],
        "encode.0.bias": [2],
        "decode.0.weight": [2, 3],
        "decode.0.bias": [3],
        "params.linear1": [4, 4],
        "params.linear2": [4, 1],
    }


def test_the_outputs_of_document_001_are_looked_at_layer_by_layer(capsys):
    run_001("looked at", N=2, C=3, H=4, W=15)
    printed = capsys.readouterr().out.splitlines()
    shapes = [line.split(" output shape:") for line in printed if "output shape" in line]
    assert [name.strip() for name, _ in shapes] == ["linear1", "relu1", "linear2", "relu2", "linear3", "sigmoid"]
    assert [text.strip().strip("[]").split(", ") for _, text in shapes][::5] == [
        ["2", "3", "4", "20"],
        ["2", "3", "4", "1"],
    ]


def test_parameters_of_document_001_are_initialized_in_its_ways():
    module, conv = nn.Linear(300, 20), nn.Conv2d(1, 2, 3)
    fans = lambda tensor: (tensor.shape[1], tensor.shape[0])  # noqa: E731 - of PyTorch's own module
    given = {"module": module, "conv1": conv, "net": nn.Sequential(module), "math": math, "Tensor": opsdk.Tensor}
    made = run_001("initialized", _calculate_fan_in_and_fan_out=fans, **given)
    assert 0.009 < module.weight.numpy().std() < 0.011
    assert not module.bias.numpy().any()
    assert 0 < np.abs(conv.weight.numpy()).max() <= np.sqrt(6 / (9 + 18))
    assert [layer.bias.numpy().tolist() for layer in made["net"]] == [[np.float32(0.01)] * 2] * 2
    made["xavier_uniform_"](module.weight)
    assert 0.95 < np.abs(module.weight.numpy()).max() / np.sqrt(6 / 320) <= 1


def test_the_model_of_document_001_is_loaded_evaluated_and_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, other = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))
    opsdk.save(other.state_dict(), "the path of model's pth file")
    x = opsdk.ones([1, 2])
    made = run_001("evaluated", model=model, data=x, x=x, PATH="whole.pth")
    assert made["out_data"].tolist() == other(x).tolist() == made["predict"].tolist()
    assert (made["out_data"].requires_grad, made["predict"].requires_grad) == (False, True)
    assert made["model"] is not model
    assert (made["model"].training, made["model"](x).tolist()) == (True, other(x).tolist())
    made["toggle_grad"](model, False)
    assert not any(param.requires_grad for param in model.parameters())


# -- 004: saving and loading ------------------------------------------------------------------------------------------

TRAINING = [
    (0, "for epoch_id in range(EPOCH_NUM):"),
    (1, "for batch_id, (image, label)"),
    *((2, text) for text in ("out = ", "loss = ", "loss.backward", "adam.step", "adam.clear_grad", "print(")),
    *((1, text) for text in ("# save", "paddle.save(layer", "paddle.save(adam")),
]
GOING_ON = [
    *(
        (0, text)
        for text in ("# create network", "layer = ", "loss_fn = ", "adam = ", "# load ", "layer_state_dict = ")
    ),
    *((0, text) for text in ("opt_state_dict = ", "layer.set_state_dict", "adam.set_state_dict", "# create data")),
]
NETWORK = [
    *((0, "class LinearNet"), (1, "def __init__"), (2, "super("), (2, "self._linear"), (1, "def forward")),
    *((2, "out = "), (2, "if label:"), (3, "loss = "), (3, "avg_loss"), (3, "return"), (2, "else:"), (3, "return")),
]


def test_the_program_of_document_004_saves_each_epoch_and_goes_on_from_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = lines_of("004")
    drawn = np.random.default_rng(0)
    batches = [(drawn.normal(size=(8, 784)).astype("float32"), drawn.integers(0, 10, (8, 1))) for _ in range(3)]

    def loader():  # the data source
        return [(opsdk.to_tensor(image), opsdk.to_tensor(label)) for image, label in batches]

    names = {"paddle": opsdk, "nn": nn, "opt": opsdk.optimizer, "np": np, "loader": loader, "EPOCH_NUM": 10}
    names |= {"IMAGE_SIZE": 784, "CLASS_NUM": 10}
    for line in (line for line in text if line.startswith("class LinearNet")):  # twice the same, by a mistake
        exec(unfolded(line, NETWORK, "這" if "這" in line else "在模型"), names)
    layer = names["layer"] = names["LinearNet"]()
    names["loss_fn"] = nn.CrossEntropyLoss()
    names["adam"] = opsdk.optimizer.Adam(learning_rate=0.001, parameters=layer.parameters())
    exec(unfolded(next(line for line in text if line.startswith("# train")), TRAINING, "執"), names)
    losses = [float(line.split("loss = ")[1]) for line in capsys.readouterr().out.splitlines()]
    assert (len(losses), losses[-1] < losses[0]) == (30, True)
    listed = next(line for line in text if line.startswith("λ ls checkpoints/")).split("如果")[0].split()[3:]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == sorted(listed)
    exec(unfolded(next(line for line in text if line.startswith("# create network")), GOING_ON, "..."), names)
    assert names["layer"] is not layer
    for image, label in loader():  # the ninth epoch again
        names["loss_fn"](names["layer"](image), label).backward()
        names["adam"].step()
        names["adam"].clear_grad()
    for mine, its in zip(names["layer"].parameters(), layer.parameters(), strict=True):
        assert mine.numpy().tobytes() == its.numpy().tobytes()

import numpy as np
import pytest

import opsdk
from opsdk import io, metric, nn
from opsdk import optimizer as opt
from opsdk.core.errors import AttributeValueError, FileMissingError, GraphError, ShapeError, StateDictError

ROWS = np.arange(20, dtype="float32").reshape(10, 2) / 10
LABELS = (np.arange(10) % 2).reshape(10, 1)
DATA = io.TensorDataset([ROWS, LABELS])


def made(metrics=None, rate=0.1, **options):
    opsdk.seed(3)
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
    model = opsdk.Model(net)
    model.prepare(opt.Momentum(rate, parameters=net.parameters()), nn.CrossEntropyLoss(), metrics, **options)
    return model


def state(model):
    return [param.numpy() for param in model.parameters()]


def equal(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_fit_is_the_loop_by_hand():
    model, by_hand = made(), made()
    model.fit(DATA, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for _ in range(2):
        for start in (0, 4, 8):
            x, y = (opsdk.to_tensor(each[start : start + 4]) for each in (ROWS, LABELS))
            by_hand.loss(by_hand.network(x), y).backward()
            by_hand.optimizer.step()
            by_hand.optimizer.clear_grad()
    assert equal(state(model), state(by_hand))


def test_accumulated_batches_are_one_step_and_a_last_group_counts_too():
    model, by_hand = made(), made()
    model.fit(DATA, batch_size=4, shuffle=False, verbose=0, accumulate_grad_batches=2)
    for starts in ((0, 4), (8,)):
        for start in starts:
            by_hand.train_batch(ROWS[start : start + 4], LABELS[start : start + 4], update=start == starts[-1])
    assert equal(state(model), state(by_hand))


def test_a_batch_gives_losses_and_metrics():
    model = made(metric.Accuracy())
    (loss,), (acc,) = model.eval_batch([ROWS], [LABELS])
    scores = model.predict_batch(ROWS)[0]
    expected = np.mean(np.log(np.exp(scores).sum(1)) - scores[np.arange(10), LABELS[:, 0]])
    assert loss == pytest.approx(expected, rel=1e-5)
    assert acc == np.mean(scores.argmax(1) == LABELS[:, 0])
    (trained,), _ = model.train_batch([ROWS], [LABELS])
    assert trained == pytest.approx(expected, rel=1e-5)
    assert made().eval_batch(ROWS, LABELS)[0].shape == ()


def test_an_evaluation_has_the_mean_loss_of_all_samples():
    model = made(metric.Accuracy())
    whole, parts = (model.evaluate(DATA, batch_size=size, verbose=0) for size in (10, 4))
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-5)
    assert (sorted(parts), parts["acc"]) == (["acc", "loss"], whole["acc"])


def test_predict_gives_batches_or_one_array_and_leaves_labels_out():
    model = made()
    (batches,) = model.predict(DATA, batch_size=4, verbose=0)
    assert [each.shape for each in batches] == [(4, 2), (4, 2), (2, 2)]
    (joined,) = model.predict(DATA, batch_size=4, stack_outputs=True, verbose=0)
    assert np.array_equal(joined, np.concatenate(batches))


def test_train_and_eval_modes_are_those_of_what_runs():
    model = made()
    model.evaluate(DATA, batch_size=10, verbose=0)
    assert not model.network.training
    model.train_batch(ROWS, LABELS)
    assert model.network.training


def test_several_inputs_and_losses_and_a_metric_without_a_value_per_batch():
    class Sum(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 1)

        def forward(self, x, y, scale=1.0):
            return opsdk.sigmoid(self.fc(x) + self.fc(y)) * scale

    model = opsdk.Model(Sum())
    both = lambda out, label: [(out - label).abs().mean(), (out * 0 + 1).mean()]  # noqa: E731
    model.prepare(opt.SGD(0.1, parameters=model.parameters()), both, [metric.Precision(), metric.Recall()])
    losses, measures = model.train_batch([ROWS, ROWS], LABELS.astype("float32"))
    assert (len(losses), losses[1], len(measures)) == (2, 1.0, 2)
    found = model.evaluate([[ROWS, ROWS, LABELS.astype("float32")]], verbose=0)
    assert list(found) == ["loss", "precision", "recall"]


def test_num_iters_counts_the_batches_of_all_epochs():
    seen = []

    class Seen(opsdk.callbacks.Callback):
        def on_train_batch_end(self, step, logs=None):
            seen.append((step, logs["batch_size"]))

    made().fit(DATA, batch_size=4, epochs=5, verbose=0, num_iters=4, callbacks=Seen())
    assert seen == [(0, 4), (1, 4), (2, 2), (0, 4)]


def test_saved_and_loaded_training_goes_on_alike(tmp_path):
    model, other = made(), made()
    model.fit(DATA, batch_size=5, verbose=0, shuffle=False)
    model.save(tmp_path / "new" / "point")
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == ["point.pdopt", "point.pdparams"]
    other.load(tmp_path / "new" / "point")
    for each in (model, other):
        each.fit(DATA, batch_size=5, verbose=0, shuffle=False)
    assert equal(state(model), state(other))


def test_a_reset_optimizer_starts_afresh(tmp_path):
    model, other = made(), made()
    model.fit(DATA, batch_size=5, verbose=0)
    model.save(tmp_path / "point")
    other.load(tmp_path / "point", reset_optimizer=True)
    assert equal(state(model), state(other))
    assert not any("velocity" in name for name in other.optimizer.state_dict())


def test_what_does_not_fit_is_refused_or_skipped(tmp_path):
    model = made()
    model.save(tmp_path / "point")
    other = opsdk.Model(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)))
    before = state(other)
    with pytest.raises(ShapeError):
        other.load(tmp_path / "point")
    assert equal(state(other), before)
    other.load(tmp_path / "point", skip_mismatch=True)
    assert equal(state(other)[:2], state(model)[:2])
    with pytest.raises(StateDictError):
        opsdk.Model(nn.Linear(2, 4)).load(tmp_path / "point")
    with pytest.raises(FileMissingError):
        other.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: opsdk.Model(print), AttributeValueError, "network expected a Layer, got builtin_function_or_method"),
        (lambda: made("acc"), AttributeValueError, "metrics expected Metrics, got str"),
        (lambda: made().prepare(loss="a"), AttributeValueError, "loss expected a Layer or a function, got str"),
        (lambda: made().prepare("adam"), AttributeValueError, "optimizer expected one, got str"),
        (lambda: opsdk.Model(nn.ReLU()).fit(DATA), GraphError, r"fit: expected prepare\(\) with optimizer and loss"),
        (lambda: opsdk.Model(nn.ReLU()).train_batch(ROWS), GraphError, "train_batch: expected prepare"),
        (lambda: made().fit(7), AttributeValueError, "data expected a Dataset, a DataLoader, or batches .*, got int"),
        (lambda: made().evaluate([[]]), ShapeError, "expected at least 1 parts of a batch, got 0"),
        (lambda: made().save("x", training=False), AttributeValueError, "training expected True, got False"),
        (lambda: made().save("folder/"), AttributeValueError, "path expected a folder and a name, got 'folder/'"),
        (lambda: made().fit(DATA, callbacks=[3]), AttributeValueError, "callbacks expected Callbacks, got int"),
        (lambda: made().fit(DATA, epochs=0), AttributeValueError, "epochs expected an integer ≥ 1, got 0"),
    ],
)
def test_what_no_model_can_do_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()

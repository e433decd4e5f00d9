import pytest

from opsdk import metric
from opsdk import optimizer as opt
from opsdk.callbacks import EarlyStopping, LRScheduler
from opsdk.core.errors import AttributeValueError
from tests.callbacks.prepared import DATA, Told, made


def test_training_stops_when_nothing_becomes_better(capsys):
    told, stopping = Told(), EarlyStopping(patience=2, verbose=1)
    model = made()
    model.fit(DATA, DATA, batch_size=5, epochs=9, verbose=0, callbacks=[stopping, told])
    assert [call[1] for call in told.calls if call[0] == "epoch_end"] == [0, 1, 2]
    assert model.stop_training
    assert capsys.readouterr().out == "Epoch 3: Early stopping.\n"


def test_a_better_value_starts_the_patience_anew_and_the_best_is_saved(tmp_path):
    stopping = EarlyStopping("acc", patience=2, min_delta=0.05, verbose=0)
    stopping.set_model(made())
    stopping.set_params({"save_dir": tmp_path, "metrics": ["acc"]})
    stops = []
    for value in (0.5, 0.5, 0.6, 0.6, 0.64):
        stopping.on_eval_end({"acc": value})
        stops.append(stopping.model.stop_training)
    assert (stops, stopping.best_value) == ([False, False, False, False, True], 0.6)
    assert (tmp_path / "best_model.pdparams").exists()


@pytest.mark.parametrize(("mode", "values"), [("min", (3.0, 2.0, 2.0)), ("max", (1.0, 2.0, 2.0))])
def test_what_is_better_follows_the_mode(mode, values):
    stopping = EarlyStopping("score", mode, patience=0, verbose=0)
    stopping.set_model(made())
    stopping.set_params({"save_dir": None, "metrics": ["score"]})
    for value, stops in zip(values, (False, False, True), strict=True):
        stopping.on_eval_end({"score": [value]})
        assert stopping.model.stop_training == stops


def test_a_measure_that_there_is_not_and_a_mode_are_refused():
    with pytest.raises(AttributeValueError, match="monitor expected one of loss, acc, got 'f1'"):
        made(metrics=metric.Accuracy()).fit(DATA, DATA, verbose=0, callbacks=EarlyStopping("f1"))
    with pytest.raises(AttributeValueError, match="mode expected 'auto', 'min' or 'max', got 'up'"):
        EarlyStopping(mode="up")


def test_a_schedule_goes_on_after_each_batch_or_each_epoch():
    for callback, expected in ((None, 4), (LRScheduler(by_step=False, by_epoch=True), 2)):
        schedule = opt.lr.ExponentialDecay(0.1, gamma=0.5)
        made(schedule).fit(DATA, batch_size=3, epochs=2, verbose=0, callbacks=callback)
        assert schedule() == pytest.approx(0.1 * 0.5**expected)
    with pytest.raises(AttributeValueError, match="LRScheduler: expected by_step or by_epoch, got both"):
        LRScheduler(True, True)


def test_checkpoints_are_saved_by_epoch(tmp_path):
    made().fit(DATA, batch_size=5, epochs=3, verbose=0, save_dir=tmp_path, save_freq=2)
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["0.pdopt", "0.pdparams", "2.pdopt", "2.pdparams", "final.pdopt", "final.pdparams"]

import re

from opsdk import metric
from opsdk.callbacks import ProgBarLogger
from tests.callbacks.prepared import DATA, made


def without_times(text):
    return re.sub(r"\d+m?s/step", "T", re.sub(r"\d+\.\d{4}", "N", text))


def test_nothing_is_printed_at_verbose_0(capsys):
    made().fit(DATA, DATA, verbose=0)
    assert capsys.readouterr().out == ""


def test_lines_are_printed_at_verbose_2(capsys):
    made(metrics=metric.Accuracy()).fit(DATA, DATA, batch_size=2, verbose=2, log_freq=2)
    assert without_times(capsys.readouterr().out).splitlines() == [
        "Epoch 1/1",
        "step 2/3 - loss: N - acc: N - T",
        "step 3/3 - loss: N - acc: N - T",
        "Eval begin...",
        "step 2/3 - loss: N - acc: N - T",
        "step 3/3 - loss: N - acc: N - T",
        "Eval samples: 5",
    ]


def test_a_bar_is_one_line_that_changes_at_verbose_1(capsys):
    made().predict(DATA, batch_size=2, verbose=1, callbacks=ProgBarLogger(1, 1))
    assert without_times(capsys.readouterr().out) == (
        f"Predict begin...\n\rstep 1/3 [{'=' * 9}>{'.' * 20}] - T\rstep 2/3 [{'=' * 19}>{'.' * 10}] - T"
        f"\rstep 3/3 [{'=' * 30}] - T\nPredict samples: 5\n"
    )

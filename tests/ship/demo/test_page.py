import numpy as np

from opsdk.ship.demo.page import alike, cells
from opsdk.ship.demo.record import Epoch, Run


def made(mode, *losses):
    return Run(mode, "custom", "numpy", tuple(Epoch(loss, 0.5) for loss in losses), 1.234, (np.zeros(1),))


def test_runs_with_one_history_are_one_curve():
    first, second = made("dynamic", 1.0, 0.5), made("static", 1.0, 0.5)
    assert alike([first, second]) == [("all 2 runs", first)]


def test_runs_that_differ_in_one_epoch_are_two_curves():
    first, second, third = made("dynamic", 1.0, 0.5), made("static", 1.0, 0.6), made("static", 1.0, 0.5)
    assert alike([first, second, third]) == [
        ("dynamic, custom (numpy); static, custom (numpy)", first),
        ("static, custom (numpy)", second),
    ]


def test_a_line_of_the_table():
    assert cells(made("static", 1.0, 0.25)) == ("static", "custom", "numpy", "0.250000", "0.5000", "1.23")

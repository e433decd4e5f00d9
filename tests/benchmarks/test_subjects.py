import dataclasses

import numpy as np
import pytest

from benchmarks.subjects import opsdk_relu
from benchmarks.subjects.subject import problem_of


@pytest.mark.parametrize("subject", opsdk_relu.SUBJECTS, ids=lambda subject: subject.name)
def test_our_subjects_are_right(subject):
    assert problem_of(subject) == ""


def test_a_wrong_gradient_is_found_before_it_is_timed():
    bare = opsdk_relu.SUBJECTS[-1]
    wrong = dataclasses.replace(bare, result=lambda names: (np.maximum(names["x"], 0), names["dy"]))
    assert problem_of(wrong).startswith("wrong gradient: expected")


def test_a_wrong_value_is_found_before_it_is_timed():
    bare = opsdk_relu.SUBJECTS[-1]
    wrong = dataclasses.replace(bare, result=lambda names: (names["x"], names["dy"]))
    assert problem_of(wrong).startswith("wrong value: expected")


@pytest.mark.parametrize("subject", opsdk_relu.SUBJECTS, ids=lambda subject: subject.name)
def test_statements_run_on_the_names_that_are_built(subject):
    names = subject.build(np.array([-1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32))
    for statement in subject.statements.values():
        exec(statement, dict(names))

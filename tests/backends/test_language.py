import numpy as np
import pytest

import opsdk
from opsdk.backends import language
from opsdk.backends.language import language_of, register_language
from opsdk.core.errors import KernelNotFoundError


@pytest.fixture
def op():
    made = opsdk.op(lambda x: x + 1, name="f", namespace="t")
    made.kernel("cpu", lambda x: x, language="fortran")
    return made


def test_a_row_in_a_language_that_nothing_reads_is_refused_when_it_is_launched(op):
    with pytest.raises(KernelNotFoundError) as caught:
        op(np.ones(2))
    row = list(op.opdef.kernels)[-1]
    assert str(caught.value) == (
        f"op 't::f': row fortran (cpu, *) at {row.origin} is written in 'fortran'; "
        f"languages here: {', '.join(sorted(language._LANGUAGES))}"
    )


def test_a_language_that_is_registered_reads_its_rows(op, monkeypatch):
    class Fortran:
        name = "fortran"
        reads_python = False

        def compile(self, opdef, kernel):
            return lambda x: x * 10

    monkeypatch.setattr(language, "_LANGUAGES", dict(language._LANGUAGES))
    made = Fortran()
    register_language(made)
    assert language_of(op.opdef, list(op.opdef.kernels)[-1]) is made
    assert op(np.ones(2)).tolist() == [10.0, 10.0]

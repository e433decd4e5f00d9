import numpy as np
import pytest

import opsdk
from opsdk.backends.call import language
from opsdk.backends.call.language import language_of, register_language
from opsdk.core.errors import KernelNotFoundError
from opsdk.define.kernel.kernel import LANGUAGES, Kernel, KernelKey


@pytest.fixture
def op():
    made = opsdk.op(lambda x: x + 1, name="f", namespace="t")
    row = Kernel(KernelKey("cpu"), "fortran", lambda x: x, made.opdef.origin, ("x",))
    made.opdef.kernels.add(row)  # as it comes from where the language exists
    return made


def test_a_row_in_a_language_that_nothing_reads_is_refused_when_it_is_launched(op):
    with pytest.raises(KernelNotFoundError) as caught:
        op(np.ones(2))
    row = list(op.opdef.kernels)[-1]
    assert str(caught.value) == (
        f"op 't::f': row fortran (cpu, *) at {row.origin} is written in 'fortran'; "
        f"languages here: {', '.join(sorted(LANGUAGES))}"
    )


def test_a_language_that_is_registered_reads_its_rows(op, monkeypatch):
    class Fortran:
        name = "fortran"
        reads_python = fills = False

        def compile(self, opdef, kernel):
            return lambda x: x * 10

    monkeypatch.setattr(language, "_LANGUAGES", dict(language._LANGUAGES))
    monkeypatch.delitem(LANGUAGES, "fortran", raising=False)  # and put back as it was
    monkeypatch.setitem(LANGUAGES, "fortran", ())
    made = Fortran()
    register_language(made, places=("cpu", "tpu"))
    op.kernel("tpu", lambda x: x, language="fortran")
    assert language_of(op.opdef, list(op.opdef.kernels)[1]) is made
    assert op(np.ones(2)).tolist() == [10.0, 10.0]

"""Outputs of another shape than the infer rule says are a kernel's fault where the reference gives what it says."""

import opsdk
from opsdk.backends.call.language import LANGUAGES, PyFunc
from opsdk.define.op import REGISTRY
from opsdk.verify import verify


def test_a_kernel_alone_that_gives_another_shape_is_named_by_its_line_and_not_by_the_rule(monkeypatch):
    spoken = PyFunc("spoken")
    monkeypatch.setitem(LANGUAGES, ("spoken", "cpu", spoken.form), spoken)
    with REGISTRY.scoped():
        op = opsdk.op("f(Tensor x) -> Tensor y", namespace="planted")(lambda x: 2 * x)
        op.backward(lambda dy: 2 * dy)

        @op.kernel("cpu", language="spoken")
        def flat(x):
            return 2 * x.ravel()

        first = verify(op).findings[0]
    assert first.message == (
        "op 'planted::f', kernel spoken (cpu, *), output 'y': expected shape (3, 5) like 'x' by the default rule, got "
        "(15,); the reference gives what was expected, mend the kernel"
    )
    assert first.at.endswith(f"test_rows_unlike.py:{flat.__code__.co_firstlineno}")

from types import ModuleType

from tests.contracts import stubs


def test_stubs_are_what_their_modules_promise():
    assert stubs.outdated() == []


def test_a_stub_that_lacks_a_function_is_reported(monkeypatch, tmp_path):
    (stale,) = [tmp_path / "vmath.pyi" for name in stubs.MODULES if name == "opsdk.expr.vmath"]
    written = stubs.path_of("opsdk.expr.vmath").read_text(encoding="utf-8")
    stale.write_text(written.replace("def sinh(x: Any) -> Any:", "def sinh(y: Any) -> Any:"), encoding="utf-8")
    monkeypatch.setattr(stubs, "path_of", lambda name: stale)
    monkeypatch.setattr(stubs, "REPOSITORY", tmp_path)
    assert stubs.outdated(["opsdk.expr.vmath"]) == [
        "vmath.pyi: not what opsdk.expr.vmath promises; python -m tests.contracts.stubs writes it anew"
    ]


def test_a_stub_has_what_is_promised_and_nothing_else():
    module = ModuleType("planted", "What it gives.\n\nMore.")
    module.__all__ = ["half", "pi", "path_of"]
    code = 'def half(x: "Any", by: "float" = 2.0) -> "Any":\n    """Returns a half.\n\n    Always.\n    """'
    exec(f"{code}\nhidden = half", vars(module))
    module.pi, module.path_of = 3.0, stubs.path_of
    assert stubs.stub(module) == (
        '"""What it gives.\n\nWritten by `python -m tests.contracts.stubs`.\n"""\n\nfrom typing import Any\n\n'
        "from tests.contracts.stubs import path_of as path_of\n\npi: float\n\n"
        'def half(x: Any, by: float = 2.0) -> Any:\n    """Returns a half.\n\n    Always.\n    """\n'
    )


def test_a_class_has_the_methods_that_private_bases_give_it():
    module = ModuleType("planted", "What it gives.")
    module.__all__ = ["Layer", "Alias", "kind"]
    code = "class _Base(dict):\n    def forward(self, x: 'int'):\n        pass\n"
    code += "class Layer(_Base):\n    'A layer.'\n    def __init__(self, at: 'int' = 1) -> 'None': ...\nAlias = Layer"
    exec(code, vars(module))
    module._Base.__module__ = module.Layer.__module__ = "planted"
    module.kind = stubs.REPOSITORY
    kind = type(stubs.REPOSITORY)
    assert stubs.stub(module) == (
        '"""What it gives.\n\nWritten by `python -m tests.contracts.stubs`.\n"""\n\n'
        f"from {kind.__module__} import {kind.__name__}\n\nkind: {kind.__name__}\n\n"
        'class Layer(dict):\n    """A layer."""\n\n'
        "    def __init__(self, at: int = 1) -> None:\n        ...\n\n    def forward(self, x: int):\n        ...\n\n"
        "Alias = Layer\n"
    )

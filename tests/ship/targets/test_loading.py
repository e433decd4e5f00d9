import sys

import pytest

from opsdk.ship.targets.loading import BrokenDefinitionError, load_file, load_module
from opsdk.ship.targets.target import resolve


def notes(error):
    return [note.strip() for note in error.__notes__]


def test_an_error_on_import_names_the_users_line(here):
    (here / "broken.py").write_text("import opsdk\n\nvalue = missing_name\n")
    with pytest.raises(
        BrokenDefinitionError,
        match=r"broken\.py: expected a file or module that loads, got NameError: name 'missing_name' is not defined",
    ) as caught:
        load_file(here / "broken.py")
    assert notes(caught.value)[0] == "at       broken.py:3 | value = missing_name"
    assert isinstance(caught.value.__cause__, NameError)


def test_a_syntax_error_names_its_line(here):
    (here / "typo.py").write_text("x = 1\ndef f(:\n    pass\n")
    with pytest.raises(BrokenDefinitionError, match=r"typo\.py: .* got SyntaxError: ") as caught:
        load_file(here / "typo.py")
    assert notes(caught.value)[0] == "at       typo.py:2 | def f(:"


REFUSED = """\
import opsdk


@opsdk.op
def f(x):
    return x


@f.backward
def g(z):
    return z
"""
BRANCHING = """\
import opsdk


@opsdk.elementwise
def f(x):
    y = 2 * x
    if y > 0:
        return y
    return x
"""
UNREADABLE = """\
import opsdk


@opsdk.op("f(Tensor x -> Tensor y")
def f(x):
    return x
"""


@pytest.mark.parametrize(
    ("text", "kind", "code", "place"),
    [
        (REFUSED, "BindingError: .*nothing is called 'z'", "OP102", "refused.py:10 | def g(z):"),
        (BRANCHING, "TraceError: .*line 7: 'if'", "OP120", "refused.py:7 | if y > 0:"),
        (UNREADABLE, "SchemaError: schema ", "OP101", 'refused.py:4 | @opsdk.op("f(Tensor x -> Tensor y")'),
    ],
)
def test_a_definition_that_opsdk_refuses_keeps_its_code_and_names_the_users_line(here, text, kind, code, place):
    (here / "refused.py").write_text(text)
    with pytest.raises(BrokenDefinitionError, match=rf"refused\.py: .* got {kind}") as caught:
        load_file(here / "refused.py")
    assert caught.value.code == code
    assert notes(caught.value)[0] == f"at       {place}"
    assert notes(caught.value)[-1] == f"code     {code}"


def test_what_a_definition_is_told_to_do_is_kept(here):
    (here / "refused.py").write_text(BRANCHING)
    with pytest.raises(BrokenDefinitionError) as caught:
        load_file(here / "refused.py")
    assert any(note.startswith("help     attributes are symbols too") for note in notes(caught.value))


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("import nothing_of_that_name\n", "install it, or mend its name"),
        ("def f(:\n", "mend that line"),
        ("1 / 0\n", "mend that line, or what leads there"),
    ],
)
def test_a_file_that_does_not_load_comes_with_a_remedy(here, text, remedy):
    (here / "broken.py").write_text(text)
    with pytest.raises(BrokenDefinitionError) as caught:
        load_file(here / "broken.py")
    assert str(caught.value).endswith(f"; {remedy}")


def test_a_file_that_fails_leaves_no_module_behind(here):
    (here / "halfway.py").write_text("raise KeyError('planted')\n")
    with pytest.raises(BrokenDefinitionError):
        load_file(here / "halfway.py")
    assert "halfway" not in sys.modules


def test_a_file_called_like_a_loaded_module_does_not_take_its_place(here):
    (here / "json.py").write_text("import opsdk\n@opsdk.op\ndef mine(x): return x\n")
    held = sys.modules["json"]
    assert [op.opdef.name for op in resolve("json.py").ops] == ["json::mine"]
    assert sys.modules["json"] is held


def test_a_file_may_import_its_neighbours(here):
    (here / "neighbour_of_it.py").write_text("bound = 3\n")
    lines = ["from neighbour_of_it import bound", "import opsdk", "@opsdk.op", "def f(x): return x + bound", ""]
    (here / "asks.py").write_text("\n".join(lines))
    assert load_file(here / "asks.py").f(1) == 4


def test_a_file_of_a_package_is_its_module_and_gives_the_ops_that_it_defines(here):
    (here / "kept" / "inner").mkdir(parents=True)
    (here / "kept" / "__init__.py").write_text("import kept.inner.other\n")
    (here / "kept" / "inner" / "__init__.py").write_text("")
    define = "import opsdk\n@opsdk.op\ndef {0}(x): return x + 1\n"
    (here / "kept" / "inner" / "other.py").write_text(define.format("other_of_it"))
    source = "from . import other\nmine_of_it.kernel('cpu', language='numba', source='.other:fast')\n"
    (here / "kept" / "inner" / "mine.py").write_text(define.format("mine_of_it") + source)
    (op,) = resolve("kept/inner/mine.py").ops
    assert (op.opdef.name, op.opdef.origin.module) == ("kept::mine_of_it", "kept.inner.mine")


def test_a_file_of_a_package_whose_name_is_taken_is_run_by_itself(here):
    (here / "json").mkdir()
    (here / "json" / "__init__.py").write_text("import opsdk\n@opsdk.op\ndef taken_by_it(x): return x\n")
    assert [op.opdef.schema.name for op in resolve("json/__init__.py").ops] == ["taken_by_it"]
    assert sys.modules["json"].__file__ != str(here / "json" / "__init__.py")


def test_a_module_that_is_not_there(here):
    with pytest.raises(ModuleNotFoundError, match="No module named 'not_there'"):
        load_module("not_there")

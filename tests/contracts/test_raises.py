import pytest

from tests.contracts import raises
from tests.contracts.tree import REPOSITORY, plant, read_tree


@pytest.fixture(scope="module")
def missing():
    """Entries of the messages in the real tree that no test names: {entry: file and line}."""
    messages = raises.raised_messages(read_tree())
    found = raises.untested(messages, raises.test_strings(REPOSITORY / "tests"))
    return {message.entry: f"{message.path}:{message.line}: {message.longest!r}" for message in found}


def test_every_raised_text_is_in_a_test_or_on_the_list(missing):
    listed = raises.read_ratchet()
    assert [where for entry, where in sorted(missing.items()) if entry not in listed] == []


def test_the_list_names_only_texts_that_still_lack_a_test(missing):
    assert sorted(raises.read_ratchet() - missing.keys()) == []


def untested(tmp_path, source, *test_texts, **more):
    modules = plant(tmp_path, {"opsdk/core/planted.py": source, **more})
    return [message.entry for message in raises.untested(raises.raised_messages(modules), test_texts)]


FORMS = {
    "plain": "raise ValueError('expected two axes, got three')",
    "f-string": "raise ValueError(f'op {1!r}: expected two axes, got {2}')",
    "joined": "raise ValueError('expected two ' + f'axes, got {3}')",
    "percent": "raise ValueError('%s expected two axes, got %-5d' % (1, 2))",
    "format": "raise ValueError('op {}: expected two axes, got {n:d}'.format(1, n=2))",
    "variable": "def f():\n    text = f'{1} expected two axes'\n    raise ValueError(text)",
    "exception in a variable": "def f():\n    e = ValueError('expected two axes')\n    raise e",
    "branches": "raise ValueError('expected two axes' if x else 'expected two axes, really')",
    "chained": "raise errors.ShapeError('expected two axes').note('x').note('y')",
    "keywords": "raise ShapeError(subject=x, expected='expected two axes', code='OP100')",
    "helper": "def wrong(x):\n    return ValueError(f'{x}: expected two axes')\ndef f():\n    raise wrong(1)",
    "nested": "class A:\n    def f(self):\n        try:\n            x\n        except E as e:\n"
    "            raise TypeError('expected two axes') from e",
}


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
def test_a_text_without_a_test_is_reported_in_every_form(tmp_path, source):
    assert untested(tmp_path, source, "another text about two axes") != []


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("text", ["x: expected two axes", r"op '\w+': .*expected two axes\, ", "Expected  two\naxes"])
def test_a_text_that_a_test_names_is_covered(tmp_path, source, text):
    assert untested(tmp_path, source, text) == []


def test_a_helper_in_another_module_of_the_package_is_followed(tmp_path):
    helper = {"opsdk/core/build.py": "def wrong(x):\n    return ValueError(f'{x}: expected two axes')\n"}
    source = "from opsdk.core.build import wrong\ndef f():\n    raise wrong(1)\n"
    assert untested(tmp_path, source, **helper) == ["opsdk/core/planted.py: expected two axes"]


@pytest.mark.parametrize(
    "source",
    [
        "raise",
        "raise error",
        "raise ValueError",
        "raise KeyError(name)",
        "raise KeyError(f'{a}: {b}')",
        "raise trimmed(error)",
        "assert x, 'a long text'",
    ],
)
def test_what_carries_no_text_of_its_own_is_skipped(tmp_path, source):
    assert untested(tmp_path, source) == []


def test_words_that_are_apart_in_the_pattern_do_not_count(tmp_path):
    apart = ["expected .* two axes", "expected two", r"expected\d two axes"]
    assert untested(tmp_path, "raise E('expected two axes')", *apart) == ["opsdk/core/planted.py: expected two axes"]


def test_docstrings_and_the_contracts_themselves_are_not_tests(tmp_path):
    source = '"""module text"""\ndef test_a():\n    """case text"""\n    f(f"an {x} b", "c")\n'
    (tmp_path / "test_x.py").write_text(source)
    assert raises.test_strings(tmp_path) == ["an \0 b", "c"]
    assert "expected two axes" not in raises.test_strings(REPOSITORY / "tests")


def test_the_list_is_read_without_its_comments(tmp_path):
    file = tmp_path / "list.txt"
    file.write_text("# why\n\nopsdk/a.py: expected two axes\n")
    assert raises.read_ratchet(file) == {"opsdk/a.py: expected two axes"}

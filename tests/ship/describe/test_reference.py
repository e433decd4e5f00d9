import errno
import inspect
import xml.etree.ElementTree as ElementTree

import pytest

from opsdk.define.op import find_op
from opsdk.ship.describe.op_facts import facts_of
from opsdk.ship.describe.reference import MADE, as_markdown, page, place, write_pages


def test_every_op_gets_a_page_its_plot_and_a_line_of_the_index(run, right):
    result = run("doc", "good.py", "relu", "--out", "ref")
    assert result.exit_code == 0, result.output
    listed = ["ref/good/clamp.md", "ref/good/clamp.svg", "ref/opsdk/relu.md", "ref/opsdk/relu.svg", "ref/index.md"]
    assert result.stdout.splitlines() == listed
    assert result.stderr == "2 ops described in ref\n"
    ElementTree.parse("ref/good/clamp.svg")
    index = (right.parent / "ref/index.md").read_text()
    assert "| [good::clamp](good/clamp.md) |  | 1 | numpy (cpu, *) |" in index
    text = (right.parent / "ref/good/clamp.md").read_text()
    assert "![clamp and its derivative](clamp.svg)" in text
    assert "| forward | numpy (cpu, *) | `good.py:5` |" in text


def test_a_page_has_all_that_there_is_to_say():
    op = find_op("opsdk::softmax")
    text = page(op, facts_of(op))
    for part in (
        "```text\nopsdk::softmax@1(Tensor x, *, int axis=-1) -> Tensor out\n```",
        "## Formula\n\n```text\nout = exp(x - row_logsumexp(x))\n```",
        "It can be differentiated any number of times.",
        "dx = dout * out - row_sum(dout * out) * out",
        "Rows: x full → out full.",
        "| float64 (3, 5) | float64 (3, 5) | ",
        "| backward | numba (cuda, floating) | `opsdk/ops/normalization.py:",
    ):
        assert part in text


def test_pages_are_written_anew_but_nothing_else_is(run, right):
    assert run("doc", "good.py", "--out", "ref").exit_code == 0
    assert run("doc", "good.py", "--out", "ref").exit_code == 0
    mine = right.parent / "ref/index.md"
    mine.write_text("# mine\n")
    result = run("doc", "good.py", "--out", "ref")
    assert result.exit_code == 2
    assert "--out: expected no file but pages made here, got ref/index.md; move it, or name another" in result.stderr
    assert mine.read_text() == "# mine\n"


def test_a_folder_that_cannot_be_written_is_told(run, right):
    (right.parent / "ref").touch()
    result = run("doc", "good.py", "--out", "ref")
    assert result.exit_code == 2
    assert "--out: expected a folder that can be written, got" in result.stderr


def test_a_file_without_ops_has_no_pages(run, here):
    (here / "empty.py").write_text("x = 1\n")
    result = run("doc", "empty.py")
    assert result.exit_code == 5
    assert "nothing to describe: empty.py defines no op" in result.stderr
    assert not (here / "docs").exists()


@pytest.mark.parametrize(("name", "where"), [("opsdk::relu", "opsdk/ops/activation.py")])
def test_a_place_is_that_in_the_package_wherever_it_is_installed(name, where, here):
    assert place(find_op(name).opdef.origin).partition(":")[0] == where


def test_the_first_line_says_that_a_page_was_made(run, right):
    run("doc", "good.py", "--out", "ref")
    assert (right.parent / "ref/good/clamp.md").read_text().startswith(MADE)


def test_a_full_standard_output_is_not_blamed_on_the_folder(tmp_path, monkeypatch):
    file = tmp_path / "paged.py"
    file.write_text("import opsdk\n@opsdk.elementwise\ndef paged(x):\n    return x * 2.0\n")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("builtins.print", full)
    with pytest.raises(OSError, match="No space left"):
        write_pages([str(file)], tmp_path / "out")
    assert (tmp_path / "out" / "index.md").exists()


def test_sections_become_lists():
    def f():
        """One sentence
        over two lines.

        Args:
            x: float array
                of any shape.
            y, z: others.

        Returns the sum.

        Example:
            >>> f(1)
            1
        """

    assert as_markdown(inspect.cleandoc(f.__doc__)).splitlines() == [
        "One sentence",
        "over two lines.",
        "",
        "**Args**",
        "",
        "- `x`: float array of any shape.",
        "- `y, z`: others.",
        "",
        "Returns the sum.",
        "",
        "**Example**",
        "",
        "```python",
        ">>> f(1)",
        "1",
        "```",
    ]


def test_nothing_is_nothing():
    assert as_markdown("") == ""

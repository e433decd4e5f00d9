import json
import os
import subprocess
import sys

import pytest

import opsdk
from opsdk.ship.describe import catalog
from tests.contracts.tree import REPOSITORY
from tests.installed import install


def process(*arguments, **environment):
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
    command = [sys.executable, "-W", "error", "-m", "opsdk", *arguments]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_alone_it_prints_a_screen_of_help_with_examples(run):
    result = run()
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 12
    assert "opsdk check relu.py" in result.stdout


def test_help_has_every_command_and_the_exit_codes(run):
    text = run("--help").stdout
    for word in ("check", "demo", "explain", "info", "list", "new", "show", "where", "4 inconclusive only"):
        assert word in text


def test_an_unknown_command_suggests_the_nearest(run):
    result = run("chekc")
    assert result.exit_code == 2
    assert "no command 'chekc'; did you mean check? Commands: bench, " in result.stderr


def test_an_unknown_command_that_is_like_none_lists_them(run):
    assert "no command 'xyzzy'. Commands: bench, " in run("xyzzy").stderr


def test_an_unknown_option_is_a_usage_error(run):
    assert run("check", "relu", "--nonsense").exit_code == 2


def test_where_prints_the_place_and_nothing_else(run, right):
    result = run("where", "good.py:clamp")
    assert result.stdout == "good.py:5\n"
    assert result.stderr == ""


def test_where_finds_built_in_ops(run):
    path, _, line = run("where", "relu").stdout.strip().rpartition(":")
    assert path.endswith("opsdk/ops/activation.py")
    source = (REPOSITORY / "opsdk/ops/activation.py").read_text().splitlines()
    assert "def relu(" in "".join(source[int(line) - 1 : int(line) + 1])


def test_a_broken_definition_is_told_without_a_traceback_of_ours(run, here):
    (here / "broken.py").write_text("import opsdk\nvalue = missing_name\n")
    result = run("check", "broken.py")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "broken.py: expected a file or module that loads, got NameError: name 'missing_name' is not defined; "
        "mend that line, or what leads there",
        "  at       broken.py:2 | value = missing_name",
        "  code     OP511",
    ]


def test_list_is_one_name_a_line(run):
    lines = run("list").stdout.splitlines()
    assert "opsdk::relu" in lines
    assert "opsdk::relu_grad" not in lines


def test_list_table_says_provider_rows_and_order(run):
    lines = run("list", "--table").stdout.splitlines()
    assert lines[0].split() == ["op", "provider", "kernels", "order"]
    (relu,) = [line.split() for line in lines if line.startswith("opsdk::relu ")]
    assert (relu[0], relu[1], relu[-1]) == ("opsdk::relu", "opsdk", "∞")
    assert "numpy" in relu[2:-1]


def test_list_json_is_for_machines(run):
    entries = {entry["op"]: entry for entry in json.loads(run("list", "--json").stdout)}
    assert entries["opsdk::argmax"]["order"] == "none"


def test_a_broken_provider_is_reported_and_the_rest_listed(run, here, monkeypatch):
    (here / "bad_ops.py").write_text("raise ImportError('no foo')\n")
    install(here, "bad-ops", {"bad": "bad_ops"}, version="1.2")
    monkeypatch.syspath_prepend(here)
    result = run("list")
    assert result.exit_code == 0
    assert "opsdk::relu" in result.stdout
    assert result.stderr == "(failed) bad-ops 1.2: ImportError: no foo, at bad_ops.py:1\n"


def test_show_says_what_an_op_is(run, right):
    assert run("show", "good.py:clamp").stdout.splitlines() == [
        "good::clamp",
        "  schema     good::clamp@1(Tensor x) -> Tensor y",
        "  where      good.py:5",
        "  saves      output y; 4 bytes for each float32 element of it",
        "  backward   good::clamp_grad, NumPy code, opaque",
        "  order      1",
        "  infer      every output is like x",
        "  kernel     numpy (cpu, *)  good.py:5",
        "  gradient   numpy (cpu, *)  good.py:10",
    ]


def test_explain_an_unknown_code_lists_the_known(run):
    result = run("explain", "OP999")
    assert result.exit_code == 2
    assert "explain: expected an error code, got 'OP999'; codes: OP101, " in result.stderr


def test_an_error_of_our_own_has_its_code_and_says_how_to_see_more(run, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(catalog, "names", fail)
    result = run("list")
    assert result.exit_code == 3
    assert "internal error: ZeroDivisionError: planted; opsdk --traceback list … shows where" in result.stderr
    assert isinstance(run("--traceback", "list").exception, ZeroDivisionError)


def test_an_interrupt_has_its_code(run, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(catalog, "names", interrupt)
    assert run("list").exit_code == 130


def test_the_module_is_the_command():
    result = process("--version")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"opsdk, version {opsdk.__version__}\n"


# `list` loads packages: of gradcheck the words in which their ops declare what inputs may be, and nothing that judges.
DECLARING = {"gradcheck", "gradcheck.domain", "gradcheck.errors", "gradcheck.model"}
DECLARING |= {f"gradcheck.model.{name}" for name in ("constraint", "dims", "dtypes", "interval", "whole")}


@pytest.mark.parametrize(
    ("arguments", "own"),
    [(("--help",), set()), (("where", "relu"), set()), (("list",), DECLARING)],
    ids=["help", "where", "list"],
)
def test_quick_commands_load_no_compiler_and_no_terminal_library(arguments, own):
    code = (
        "import sys\n"
        "from opsdk.ship.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "heavy = {'numba', 'rich', 'cffi', 'sklearn'} & set(sys.modules)\n"
        "heavy |= {name for name in sys.modules if name.partition('.')[0] == 'gradcheck'}\n"
        f"assert heavy <= {own}, heavy"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_process_ends_with_the_commands_status(here, wrong):
    result = process("check", "bad.py")
    assert result.returncode == 1
    assert "\x1b" not in result.stdout + result.stderr
    assert "\r" not in result.stdout + result.stderr


def test_a_terminal_without_utf8_gets_letters_that_it_has(here, right):
    result = process("show", "relu", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "order      inf" in result.stdout


def test_what_no_letters_stand_for_becomes_a_question_mark(here):
    (here / "odd.py").write_text("import opsdk\n@opsdk.op\ndef odd(x):\n    'Über x.'\n    return x + 1\n", "utf-8")
    assert "about      ?ber x." in process("show", "odd.py:odd", PYTHONIOENCODING="ascii").stdout


def test_colour_may_be_chosen_before_or_behind_the_command(run, right, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32mpass\x1b[0m" in run("check", "good.py", "--color", "always").stdout
    assert "\x1b[32mpass\x1b[0m" in run("--color", "always", "check", "good.py").stdout
    assert "\x1b" not in run("--color", "always", "check", "good.py", "--color", "never").stdout
    assert "\x1b" not in run("check", "good.py").stdout


def test_the_functions_of_nn_are_ops_of_the_list(run):
    assert "opsdk::silu" in run("list").stdout.splitlines()

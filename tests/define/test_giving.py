import os

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import NameClashError

X = np.array([1.0, 2.0])
ROWS = {
    "numba": "@op.kernel('cpu', language='numba'{more})\ndef row(x):\n    return x * {k}\n",
    "numba, of another function's file": "op.kernel('cpu', rows[{k}], language='numba'{more})\n",
    "deferred": "op.kernel('cpu', language='numba', source='rows_{k}:row'{more})\n",
    "c": "op.kernel('cpu', language='c', source='void twice_f64(void) {{ /* {k} */ }}'{more})\n",
    "reference": "@op.kernel('cpu', language='numpy'{more})\ndef row(x):\n    return x * {k}\n",
}


@pytest.fixture
def given(run_file):
    found = run_file("my_ops/ops.py", "@opsdk.op(namespace='t')\ndef twice(x):\n    return 2 * x\n")
    rows = run_file("my_ops/rows.py", "def two(x):\n    return x * 2\ndef three(x):\n    return x * 3\n")
    return {"op": found["twice"], "rows": {2: rows["two"], 3: rows["three"]}, "__name__": "other"}


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
def test_a_kernel_of_another_file_is_not_replaced_without_a_word(given, run_file, text, capsys):
    op = given["op"]
    if "numpy" not in text:
        run_file("my_ops/first.py", text.format(k=2, more=""), scope=given)
    held = list(op.opdef.kernels)
    with pytest.raises(NameClashError) as caught:
        run_file("my_ops/second.py", text.format(k=3, more=""), scope=given)
    message = str(caught.value)
    assert message.startswith("op 't::twice': has a kernel ")
    assert f"my_ops{os.sep}" in message.partition(", got another from ")[0]
    assert message.endswith("; pass replace=True to replace it")
    assert list(op.opdef.kernels) == held
    run_file("my_ops/second.py", text.format(k=3, more=", replace=True"), scope=given)
    assert list(op.opdef.kernels) != held
    assert len(op.opdef.kernels) == len(held)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", [ROWS["numba"], ROWS["c"]], ids=["numba", "c"])
def test_a_kernel_of_the_same_file_is_replaced_with_one_line_and_the_same_again_without(given, run_file, text, capsys):
    op = given["op"]
    run_file("my_ops/first.py", text.format(k=2, more=""), scope=given)
    run_file("my_ops/first.py", text.format(k=2, more=""), scope=given)
    assert capsys.readouterr().err == ""
    run_file("my_ops/first.py", text.format(k=3, more=""), scope=given)
    language = list(op.opdef.kernels)[-1].language
    assert capsys.readouterr().err == (
        f"t::twice, kernel {language} (cpu, *) redefined (my_ops{os.sep}first.py:1 over my_ops{os.sep}first.py:1)\n"
    )


def test_the_same_kernel_from_another_file_changes_nothing(given, run_file):
    for text in (ROWS["numba"], ROWS["c"]):
        run_file("my_ops/first.py", text.format(k=2, more=""), scope=given)
        held = list(given["op"].opdef.kernels)
        run_file("my_ops/second.py", text.format(k=2, more=""), scope=given)
        assert list(given["op"].opdef.kernels) == held


def test_the_same_function_under_other_options_is_another_kernel(given, run_file):
    run_file("my_ops/first.py", ROWS["numba"].format(k=2, more=""), scope=given)
    with pytest.raises(NameClashError):
        run_file("my_ops/second.py", ROWS["numba"].format(k=2, more=", parallel=True"), scope=given)


def test_files_in_c_are_the_same_kernel_if_their_text_is(given, run_file, tmp_path):
    places = [tmp_path / name / "twice.c" for name in ("one", "other", "changed")]
    for place in places:
        place.parent.mkdir()
        place.write_text(f"void twice_f64({'int' if place.parent.name == 'changed' else 'void'}) {{ }}\n")
    register = "op.kernel('cpu', language='c', source={!r})\n"
    run_file(str(tmp_path / "first.py"), register.format(str(places[0])), scope=given)
    run_file(str(tmp_path / "second.py"), register.format(str(places[1])), scope=given)
    with pytest.raises(NameClashError):
        run_file(str(tmp_path / "second.py"), register.format(str(places[2])), scope=given)


def test_a_kernel_whose_source_file_is_gone_gives_way(given, run_file, tmp_path, capsys):
    old, new = tmp_path / "old.c", tmp_path / "new.c"
    for place in (old, new):
        place.write_text("void twice_f64(void) { }\n")
    run_file("my_ops/first.py", f"op.kernel('cpu', language='c', source={str(old)!r})\n", scope=given)
    old.unlink()
    run_file("my_ops/second.py", f"op.kernel('cpu', language='c', source={str(new)!r})\n", scope=given)
    assert list(given["op"].opdef.kernels)[-1].source == str(new)
    assert "kernel c (cpu, *) redefined" in capsys.readouterr().err


def test_other_options_from_the_same_file_are_taken_without_a_word(given, run_file, capsys):
    for more in ("", ", contiguous=True"):
        run_file("my_ops/first.py", ROWS["numba"].format(k=2, more=more), scope=given)
    assert list(given["op"].opdef.kernels)[-1].options == {"contiguous": True}
    assert capsys.readouterr().err == ""


def test_kernels_of_another_dtype_belong_to_whoever_comes_first(given, run_file):
    run_file("my_ops/first.py", ROWS["numba"].format(k=2, more=""), scope=given)
    run_file("my_ops/second.py", ROWS["numba"].format(k=2, more=", dtype='float32'"), scope=given)
    with pytest.raises(NameClashError, match=r"has a kernel numba \(cpu, float32\) from my_ops.second.py"):
        run_file("my_ops/first.py", ROWS["numba"].format(k=3, more=", dtype='float32'"), scope=given)


def test_a_kernel_of_several_dtypes_of_which_one_belongs_to_another_file_is_refused_whole(given, run_file):
    run_file("my_ops/first.py", ROWS["numba"].format(k=2, more=", dtype='float64'"), scope=given)
    held = list(given["op"].opdef.kernels)
    with pytest.raises(NameClashError, match=r"has a kernel numba \(cpu, float64\) from my_ops.first.py"):
        run_file("my_ops/second.py", ROWS["numba"].format(k=3, more=", dtype=('float32', 'float64')"), scope=given)
    assert list(given["op"].opdef.kernels) == held


def test_an_op_of_a_function_from_a_third_file_has_the_owner_that_registers_it(run_file):
    functions = run_file("lib/functions.py", "def f(x):\n    return +x\ndef g(x):\n    return 2 * x\n", module="lib")
    register = "opsdk.op(name='h', namespace='t')({})\n"
    scope = {**functions, "__name__": "other"}
    run_file("my_ops/first.py", register.format("f"), scope=scope)
    with pytest.raises(NameClashError, match=r"registered by lib.functions.py:1, got another definition from"):
        run_file("my_ops/second.py", register.format("g"), scope=scope)
    assert opsdk.find_op("t::h")(X).tolist() == [1.0, 2.0]

"""The kernel-mutation bench: edits are what they say, kernels are found, what is wrong is caught, the page counts."""

import json
from dataclasses import replace

import pytest

import opsdk
from benchmarks.kernel_mutation import __main__ as command
from benchmarks.kernel_mutation import c_edits, c_tokens, edit, judge, page, python_edits, units
from benchmarks.kernel_mutation.judge import Judge, Records, Result, in_turns

PYTHON = '''
import numba

@numba.njit
def total(x, n, out):
    """Sums 1 + 1 of them."""
    sums = np.zeros((n, 3))
    out[0] = 0.0
    for i in range(n):
        if i < 2 and x[i, 0] != 0:
            continue
        sums[i, 1] += float(x[i, 1]) * 2.5
    for d in range(n - 1, -1, -1):
        out[0] += sums[d, 1]
    cuda.syncthreads()
    merge(out, x.shape[1])


def host(n):
    return n + 1
'''

C = """/* a < b */
#include <math.h>
enum { BLOCK = 64 };

static double mean(const double *x, int64_t n) {
  double sum = 0; // + 1
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum / (double)n;
}

#define SCALE(T, suffix)                                        \\
  int32_t scale_##suffix(const DLTensor *x, DLTensor *y) {      \\
    const T *in = OPSDK_DATA(const T, x), *it = in - 1;         \\
    for (int64_t i = x->shape[0] - 1; i >= 0; --i)              \\
      if (in[i] > 0) shift_##suffix(y, in[i], "a < b");         \\
    memset(y, 0, x->ndim - 1);                                  \\
    return 0;                                                   \\
  }

#define EACH(n, body) for (int i = 0; i < (n); ++i) body
"""


def unit(text, name, language):
    return units.Unit(f"contrib_ops/losses/some.{'c' if language == 'c' else 'py'}", name, language, text, ())


def edited(text, name, language="numba"):
    """The kinds of edits and the lines that they give."""
    module = c_edits if language == "c" else python_edits
    return {(m.edit.kind, m.after) for m in edit.mutants(unit(text, name, language), module.edits(text, name))}


def test_a_python_kernel_is_edited_in_one_place_each():
    made = edited(PYTHON, "total")
    assert {
        ("bounds", "for i in range(n - 1):"),
        ("bounds", "for i in range(n + 1):"),
        ("iteration", "for i in range(1, n):"),
        ("bounds", "for d in range(n - 1, 0, -1):"),
        ("bounds", "for d in range(n - 1, -2, -1):"),
        ("iteration", "for d in range(n - 1 - 1, -1, -1):"),
        ("iteration", "for d in range(n - 1, -1, 2 * -1):"),
        ("iteration", "break"),
        ("comparison", "if i <= 2 and x[i, 0] != 0:"),
        ("comparison", "if i > 2 and x[i, 0] != 0:"),
        ("comparison", "if (i < 2 or x[i, 0] != 0):"),
        ("comparison", "if i < 2 and x[i, 0] == 0:"),
        ("constant", "if i < 3 and x[i, 0] != 0:"),
        ("index", "if i < 2 and x[i + 1, 0] != 0:"),
        ("index", "if i < 2 and x[i, 1] != 0:"),
        ("axis", "if i < 2 and x[0, i] != 0:"),
        ("cast", "sums[i, 1] += (x[i, 1]) * 2.5"),
        ("constant", "sums[i, 1] += float(x[i, 1]) * 5.0"),
        ("operator", "sums[i, 1] += float(x[i, 1]) / 2.5"),
        ("operator", "sums[i, 1] -= float(x[i, 1]) * 2.5"),
        ("start", "sums[i, 1] = float(x[i, 1]) * 2.5"),
        ("statement", "pass"),
        ("start", "out[0] = 1.0"),
        ("start", "sums = np.ones((n, 3))"),
        ("cast", "sums = np.zeros((n, 3), np.float32)"),
        ("synchronisation", "pass"),
        ("arguments", "merge(x.shape[1], out)"),
        ("axis", "merge(out, x.shape[0])"),
    } <= made
    assert not any("4" in after or "host" in after for _, after in made)  # room for more changes nothing


def test_what_stands_around_a_python_edit_stays_as_it_was():
    for mutant in edit.mutants(unit(PYTHON, "total", "numba"), python_edits.edits(PYTHON, "total")):
        assert mutant.text.startswith(PYTHON[: PYTHON.index("sums =")])
        assert mutant.text.endswith(PYTHON[PYTHON.index("\n\ndef host") :])
        compile(mutant.text, "mutant", "exec")


def test_letters_beyond_ascii_before_an_edit_do_not_move_it():
    text = 'def f(x):\n    x["größe"] = x[1]\n'
    assert ("index", 'x["größe"] = x[2]') in edited(text, "f")


@pytest.mark.parametrize(
    ("line", "kind", "after"),
    [
        ("y = min(a, b)", "comparison", "y = max(a, b)"),
        ("y = a if c else b", "comparison", "y = (b if c else a)"),
        ("y = -(a + b) * c", "operator", "y = (a + b) * c"),
        ("y = a // b", "operator", "y = a % b"),
        ("y = (a if c else b) * 2", "constant", "y = (a if c else b) * 3"),
        ("y = x[: n - 1]", "bounds", "y = x[: n - 1 - 1]"),
        ("y = x[n:]", "bounds", "y = x[n + 1:]"),
        ("y = INF", "start", "y = 0.0"),
        ("y = m is None", "comparison", "y = m is not None"),
        ("y = not a", "comparison", "y = a"),
        ("y = x.sum(axis=0)", "axis", "y = x.sum(axis=1)"),
        ("y = x.astype(T)", "cast", "y = x"),
        ("cuda.atomic.add(x, i, a)", "synchronisation", "x[i] += a"),
        ("f(a, b, c)", "arguments", "f(a, c, b)"),
        ("for i in range(t, n, s): pass", "iteration", "for i in range(t, n, 2 * s): pass"),
    ],
)
def test_each_kind_of_python_edit(line, kind, after):
    assert (kind, after) in edited(f"def f():\n    {line}\n", "f")


def test_words_of_c_are_those_outside_of_comments_strings_and_directives():
    assert list(c_tokens.bodies(C)) == ["mean", "scale", "EACH"]
    words = [word.text for word in c_tokens.bodies(C)["scale"]]
    assert words[:6] == ["const", "T", "*", "in", "=", "OPSDK_DATA"]
    assert "shift_##suffix" in words
    assert [word for word in words if word == "<"] == []  # of the string
    assert [word.text for word in c_tokens.bodies(C)["mean"]][:4] == ["double", "sum", "=", "0"]
    assert [word.text for word in c_tokens.tokens('a _Pragma("omp simd") <<= 0x1p-53 1.5e-3f')] == [
        "a", "<<=", "0x1p-53", "1.5e-3f",
    ]  # fmt: skip


def test_a_function_of_c_is_edited_in_one_place_each():
    assert edited(C, "mean", "c") == {
        ("start", "double sum = 1; // + 1"),
        ("cast", "float sum = 0; // + 1"),
        ("bounds", "for (int64_t i = 0; i <= n; ++i) sum += x[i];"),
        ("bounds", "for (int64_t i = 0; i < n - 1; ++i) sum += x[i];"),
        ("iteration", "for (int64_t i = 0 + 1; i < n; ++i) sum += x[i];"),
        ("iteration", "for (int64_t i = 0; i < n; i += 2) sum += x[i];"),
        ("operator", "for (int64_t i = 0; i < n; ++i) sum -= x[i];"),
        ("index", "for (int64_t i = 0; i < n; ++i) sum += x[i + 1];"),
        ("statement", "for (int64_t i = 0; i < n; ++i) ;"),
        ("operator", "return sum * (double)n;"),
        ("cast", "return sum / n;"),
        ("cast", "return sum / (float)n;"),
    }


def test_a_macro_that_defines_a_function_is_edited_like_one():
    assert edited(C, "scale", "c") == {
        ("operator", "const T *in = OPSDK_DATA(const T, x), *it = in + 1;"),
        ("constant", "const T *in = OPSDK_DATA(const T, x), *it = in - 2;"),
        ("bounds", "for (int64_t i = x->shape[0] - 1; i > 0; --i)"),
        ("bounds", "for (int64_t i = x->shape[0] - 1; i >= 0 + 1; --i)"),
        ("constant", "for (int64_t i = x->shape[0] - 1; i >= 1; --i)"),
        ("operator", "for (int64_t i = x->shape[0] + 1; i >= 0; --i)"),
        ("iteration", "for (int64_t i = x->shape[0] - 1 - 1; i >= 0; --i)"),
        ("iteration", "for (int64_t i = x->shape[0] - 1; i >= 0; i -= 2)"),
        ("index", 'if (in[i + 1] > 0) shift_##suffix(y, in[i], "a < b");'),
        ("comparison", 'if (in[i] >= 0) shift_##suffix(y, in[i], "a < b");'),
        ("comparison", 'if (in[i] < 0) shift_##suffix(y, in[i], "a < b");'),
        ("constant", 'if (in[i] > 1) shift_##suffix(y, in[i], "a < b");'),
        ("arguments", 'if (in[i] > 0) shift_##suffix(in[i], y, "a < b");'),
        ("index", 'if (in[i] > 0) shift_##suffix(y, in[i + 1], "a < b");'),
        ("statement", "if (in[i] > 0) ;"),
        ("arguments", "memset(0, y, x->ndim - 1);"),
        ("arguments", "memset(y, x->ndim - 1, 0);"),
        ("constant", "memset(y, 1, x->ndim - 1);"),
        ("operator", "memset(y, 0, x->ndim + 1);"),
        ("axis", "memset(y, 0, x->ndim - 2);"),
        ("start", ";"),
        ("constant", "return 1;"),
    }


@pytest.mark.parametrize(
    ("line", "kind", "after"),
    [
        ("y = a && !b;", "comparison", "y = a || !b;"),
        ("y = a && !b;", "comparison", "y = a && b;"),
        ("y = -x * z;", "operator", "y = x * z;"),
        ("y = a[i * n + j];", "index", "y = a[i * n - j];"),
        ("y = a % b;", "operator", "y = a / b;"),
        ("y = z * 0x1p-53;", "constant", "y = z * (2 * 0x1p-53);"),
        ("y = z * .0;", "constant", "y = z * 1.0;"),
        ("y = x->shape[2];", "axis", "y = x->shape[3];"),
        ("if (a) continue;", "iteration", "if (a) break;"),
        ("y = 2 * (int64_t)z;", "cast", "y = 2 * z;"),
        ('_Pragma("omp atomic") y += z;', "synchronisation", "y += z;"),
        (
            '_Pragma("omp for reduction(+ : y)") for (;;) y += z;',
            "synchronisation",
            '_Pragma("omp for") for (;;) y += z;',
        ),
    ],
)
def test_each_kind_of_c_edit(line, kind, after):
    assert (kind, after) in edited(f"void f(void) {{\n  z = x;\n  {line}\n}}", "f", "c")


@pytest.mark.parametrize(
    "line",
    [
        "const T *x;",
        "T tile[4][2];",
        "free(x);",
        "y = (T)x;",
        "emitted *e;",
        "x = least(a, b);",
        'say("a + b");',
        "return;",
    ],
)
def test_what_is_declared_freed_or_said_and_what_c_converts_itself_is_left_alone(line):
    made = edited(f"typedef float emitted;\nvoid f(void) {{\n  {line}\n}}", "f", "c")
    assert {kind for kind, _ in made} <= {"statement"}


def test_edits_are_drawn_of_each_kind_in_turn_and_more_of_them_add_to_the_same():
    every = list(edit.mutants(unit(PYTHON, "total", "numba"), python_edits.edits(PYTHON, "total")))
    kinds = {mutant.edit.kind for mutant in every}
    few, more = edit.drawn(every, len(kinds), 0), edit.drawn(every, 20, 0)
    assert {mutant.edit.kind for mutant in few} == kinds
    assert more[: len(kinds)] == few
    assert edit.drawn(list(every), 20, 0) == more
    assert edit.drawn(every, 20, 1) != more
    assert edit.drawn([], 5, 0) == []


def test_the_ids_of_mutants_differ_and_stay_where_other_lines_change():
    first = {m.id for m in edit.mutants(unit(PYTHON, "total", "numba"), python_edits.edits(PYTHON, "total"))}
    text = PYTHON.replace("import numba", "import numba\n# and more")
    assert first == {m.id for m in edit.mutants(unit(text, "total", "numba"), python_edits.edits(text, "total"))}
    assert len(first) == len(list(edit.mutants(unit(PYTHON, "total", "numba"), python_edits.edits(PYTHON, "total"))))
    assert all(name.startswith("contrib_ops/losses/some.py:total/") for name in first)


def test_functions_that_host_code_calls_too_are_not_of_a_kernel():
    text = (
        "def shared(): pass\ndef of_kernel(): pass\ndef tap(): pass\ntap_numba = njit(tap)\n"
        "def kernel():\n    shared(); of_kernel(); tap_numba()\ndef reference():\n    shared()\n"
    )
    assert units.python_names(text, ["kernel"]) == ["of_kernel", "tap", "kernel"]


@pytest.fixture(scope="module")
def every_unit():
    pytest.importorskip("numba")
    return units.units()


def test_kernels_in_every_language_are_found_with_the_ops_that_run_them(every_unit):
    found = {str(each): each for each in every_unit}
    assert found["numba contrib_ops/losses/soft_dtw_numba.py:align"].subjects == (
        ("contrib_ops.losses.soft_dtw", "contrib::soft_dtw"),
    )
    assert found["c contrib_ops/selection/advanced_index.h:find_places"].family == "selection"
    shared = found["c contrib_ops/segments/integers.h:integer"]  # which a header of another folder includes
    assert {op for _, op in shared.subjects} >= {"contrib::ragged_from_padded", "contrib::advanced_index"}
    assert found["cuda examples/kernels/softmax.py:summed"].subjects == (
        ("examples/kernels/softmax.py", "softmax::softmax"),
    )
    assert found["numba contrib_ops/segments/segment_sum.py:segment_sum_float32_numba"].family == "segments"
    assert found["c examples/kernels/relu.c:relu"].family == "examples"
    first, _ = found["numba contrib_ops/sequences/crf_numba.py:decode"].subjects
    assert first == ("contrib_ops.sequences.crf", "contrib::crf_log_likelihood")
    assert not [name for name in found if "opsdk_message" in name or name.endswith(":segment_sum_grad")]


@pytest.fixture(scope="module")
def every_mutant(every_unit):
    return {each: command.mutants_of(each) for each in every_unit}


def test_every_function_has_mutants_or_nothing_to_edit(every_mutant):
    none = {each.name for each, made in every_mutant.items() if not made}
    assert none <= {"release", "turned", "key_f32"}


RESULT = Result(
    "contrib_ops/a/b.c:f/index-000000", "d", "index", "c", "a", "contrib::b", "x[i]", "x[i + 1]",
    "caught", "values", "contrib::b[cpu,float64,c]::value.y", 1.0, "abc123",
)  # fmt: skip


def test_what_was_judged_is_remembered_for_the_text_that_it_was(tmp_path):
    (mutant, *_) = edit.mutants(unit(C, "mean", "c"), c_edits.edits(C, "mean"))
    records = Records(tmp_path / "results.jsonl")
    records.add(replace(RESULT, id=mutant.id, digest=mutant.unit.digest, verdict="survived"))
    records.add(replace(RESULT, id=mutant.id, digest=mutant.unit.digest))
    assert Records(tmp_path / "results.jsonl").of(mutant).verdict == "caught"
    assert records.of(replace(mutant, unit=unit(C + "\n", "mean", "c"))) is None


def test_what_was_judged_is_judged_again_where_that_is_asked_for(tmp_path, monkeypatch):
    first, second, third, *_ = edit.mutants(unit(C, "mean", "c"), c_edits.edits(C, "mean"))
    records = Records(tmp_path / "results.jsonl")
    for mutant, verdict in ((first, "survived"), (second, "survived"), (third, "caught")):
        records.add(replace(RESULT, id=mutant.id, digest=mutant.unit.digest, verdict=verdict))
    monkeypatch.setattr(page, "reasons", lambda: {second.id: "it has no effect"})

    def judged(*again):
        options = command.parser().parse_args(["--again", *again])
        return [command._is_open(mutant, records, options) for mutant in (first, second, third)]

    assert judged() == [False, False, False]
    assert judged("survived") == [True, True, False]
    assert judged("missed") == [True, False, False]


def test_the_limit_is_that_of_a_text_that_no_cache_knows_though_it_computes_the_same():
    c = replace(unit(C, "mean", "c"), subjects=(("a.py", "a::f"),))
    other = replace(c, subjects=(("a.py", "a::f"), ("a.py", "a::g")))
    texts = {judge._as_it_is(each, stage) for each in (c, other) for stage in ("values", "check")}
    assert len(texts) == 4
    assert all(edited.startswith(C) and edited[len(C) :].startswith("\n/* ") for edited in texts)
    compile(judge._as_it_is(unit(PYTHON, "total", "numba"), "values"), "kernel", "exec")


def test_mutants_come_in_turns():
    assert list(in_turns([["a", "b", "c"], [], ["d"]])) == ["a", "d", "b", "c"]


def test_the_page_counts_and_gives_the_reason_of_every_survivor(tmp_path):
    file = tmp_path / "survivors.txt"
    file.write_text("# why\n\nsame it has no effect\ngap missed: no sample is as long\n", encoding="utf-8")
    results = [
        RESULT,
        replace(RESULT, id="same", verdict="survived", by="", kind="cast"),
        replace(RESULT, id="gap", verdict="survived", by="", language="numba", before="a | b"),
        replace(RESULT, id="text", verdict="invalid"),
        replace(RESULT, id="late", by="takes longer than it may", kind="bounds"),
        replace(RESULT, id="crash", by="crashes, SIGSEGV", commit=""),
    ]
    why = page.reasons(file)
    assert why == {"same": "it has no effect", "gap": "missed: no sample is as long"}
    assert page.score(results, why) == 0.75
    text = "\n".join(page.lines(results, why, 3, ["c a.c:g"]))
    assert "6 mutants of 2 of 3 functions" in text
    assert "**3 of 4 that change anything are caught, 75.0 %.** 1 survivors" in text
    assert "1 are missed, 1 of them by the first stage alone" in text
    assert "0 are caught under `--thorough`" in text
    assert "Judged at abc123 (5), a commit that was not written down (1): a result holds" in text
    assert "| index: an index beside the right one | 2 | 0 | 1 | 1 |" in text
    assert "| Numba | 0 | 0 | 1 | 0 |" in text
    assert "| `value` | 1 |" in text
    assert "| crashes | 1 |" in text
    assert "- `same`\n  `x[i]` → `x[i + 1]`: it has no effect" in text
    assert text.index("## Missed") < text.index("- `gap`") < text.index("## Survivors that change nothing")
    assert "- `gap`\n  `a | b` → `x[i + 1]`: no sample is as long" in text
    assert "Not touched in this run: c a.c:g." in text


def test_a_survivor_without_a_reason_or_twice_is_refused(tmp_path):
    file = tmp_path / "survivors.txt"
    for text in ("id\n", "id why\nid why\n"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"line \d: expected an id that is new and its reason, got 'id"):
            page.reasons(file)


def test_every_reason_is_of_a_mutant_that_there_is(every_mutant):
    assert set(page.reasons()) <= {mutant.id for made in every_mutant.values() for mutant in made}


def test_the_mutants_are_listed_without_judging_any(capsys):
    pytest.importorskip("numba")
    assert command.main(["--list", "--limit", "2", "--family", "examples", "--only", "relu.c"]) == 0
    assert capsys.readouterr().out.count("examples/kernels/relu.c:relu") == 4


@pytest.mark.parametrize("stage", ["values", "check", "thorough"])
def test_each_stage_ends_at_the_first_finding_and_says_nothing_of_what_is_right(stage, monkeypatch):
    pytest.importorskip("numba")
    from benchmarks.kernel_mutation import worker

    monkeypatch.setattr(worker.Case, "find", worker.planted.find_and_end)
    _, examine = worker.STAGES[stage]
    with opsdk.REGISTRY.scoped():
        doubled = opsdk.op(lambda x: 2 * x, name="doubled", namespace="t")
        doubled.kernel("cpu", lambda x: 2.0 * x, language="numba", dtype="float64")
        examine(doubled, ("numpy",))
        doubled.kernel("cpu", lambda x: 3.0 * x, language="numba", dtype="float64")
        with pytest.raises(worker.planted.Found, match="::value"):
            examine(doubled, ("cpu,numba",))


@pytest.mark.slow  # a worker, and a C compiler
def test_a_wrong_kernel_is_caught_and_what_changes_nothing_survives(tmp_path):
    pytest.importorskip("cffi")
    (relu, *_) = [each for each in units.units() if str(each) == "c examples/kernels/relu.c:relu"]
    wrong = next(mutant for mutant in command.mutants_of(relu) if mutant.edit.new == " + 1")
    at = wrong.edit.start
    with Judge(tmp_path / "copy", {}) as judged:
        found = judged.judge(wrong)
        crashed = judged.judge(replace(wrong, edit=edit.Edit("index", at, at, " + *(volatile int *)0")))
        no_c = judged.judge(replace(wrong, edit=edit.Edit("index", at, at, " + ?")))
        same = judged.judge(replace(wrong, edit=edit.Edit("index", at, at, " + 0")))
    assert (found.verdict, found.stage) == ("caught", "values")
    assert found.by.startswith("relu::relu[cpu,float")
    assert (crashed.verdict, crashed.by) == ("caught", "crashes, SIGSEGV")
    assert (no_c.verdict, same.verdict) == ("invalid", "survived")


def test_results_are_lines_of_json(tmp_path):
    Records(tmp_path / "r.jsonl").add(RESULT)
    assert json.loads((tmp_path / "r.jsonl").read_text())["verdict"] == "caught"
    assert judge.STAGES["cuda"] == ("values", "blocks")

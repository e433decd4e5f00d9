import copy
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import opsdk
from opsdk import static
from opsdk.core.errors import OpsdkError, SavedFileError, UnknownOpError
from opsdk.core.names import name_guard
from opsdk.static.files.reading import Document
from tests.static.files.conftest import read, text_of


def refused(document):
    """Gives the message for a document that is none."""
    with pytest.raises(SavedFileError) as caught:
        read(document if isinstance(document, str) else json.dumps(document))
    return str(caught.value)


# -- texts that are no document ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "load: expected a Program in JSON, "),
        ("{", "load: expected a Program in JSON, "),
        ("[" * 100_000, "load: expected a Program in JSON, "),
        ("9" * 5000, "load: expected a Program in JSON, "),
        ("[]", "load: expected a Program that opsdk wrote, which begins with 'opsdk.program', got '[]'"),
        ('{"opsdk.program": true}', "load: expected a Program that opsdk wrote"),
        ('{"opsdk.program": 0}', "load: expected a Program that opsdk wrote"),
        (
            '{"opsdk.program": 2}',
            "load: expected version 1 of opsdk.program, got 2; a newer opsdk wrote it: update opsdk",
        ),
        ('{"opsdk.program": 1}', "load: programs expected a table, got NoneType; damaged?"),
        ('{"opsdk.program": 1, "programs": {}, "packages": []}', "load: packages expected a table, got list; damaged?"),
    ],
)
def test_a_text_that_is_no_document_says_why(text, words):
    assert refused(text).startswith(words)


# -- lines that are none -----------------------------------------------------------------------------------------------


def changed(simple, at, value):
    """Gives the document with another value at a place of its Block; `...` takes the entry out."""
    document, block, _ = simple
    *path, last = at
    for key in path:
        block = block[key]
    if value is ...:
        del block[last]
    else:
        block[last] = value
    return document


V, P = "variables", "operators"
LINES = [
    ((V, 0, "name"), "", "a variable expected a name of its own, got ''"),
    ((V, 0, "name"), 3, "a variable expected a name of its own, got '3'"),
    ((V, 1, "name"), "x", "a variable expected a name of its own, got 'x'"),
    ((V, 0, "shape"), [-2], "a shape expected at most 32 sizes, -1 for one that is open, got [-2]"),
    ((V, 0, "shape"), [2**60], "a shape expected at most 32 sizes"),
    ((V, 0, "dtype"), "object", "dtype"),
    ((V, 0, "data"), "yes", "data expected true or false, got yes"),
    ((V, 0, "parameter"), [1.0, None, True], "parameter 'x' expected known sizes, a rate and whether it is clipped"),
    ((V, 2, "parameter"), [1.0], "expected variables and operators, ValueError: not enough values to unpack"),
    ((V, 2, "parameter"), [1.0, "l2", True], "expected a regularizer that is a number, got l2"),
    ((V, 2, "constant"), {"dtype": "int8", "shape": [1], "numbers": [1]}, "expected float32(1,), got int8(1,)"),
    ((V, 0), None, "expected variables and operators, TypeError: "),
    ((V,), 3, "expected variables and operators, TypeError: "),
    ((P, 0, "in"), {"x": ["nowhere"]}, "operator 'opsdk::relu': expected names of variables, got 'nowhere'"),
    ((P, 0, "in"), {"x": [3]}, "operator 'opsdk::relu': expected names of variables, got '3'"),
    ((P, 0, "in"), {"x": "x"}, "operator 'opsdk::relu': expected a list of names, got x"),
    ((P, 0, "in"), {}, "operator 'opsdk::relu': input 'x' expected Tensor x, got 0 variables"),
    ((P, 0, "in"), {"x": ["x", "x"]}, "operator 'opsdk::relu': input 'x' expected Tensor x, got 2 variables"),
    ((P, 0, "in"), {"z": ["x"]}, "operator 'opsdk::relu': no slot is called 'z'; was it of another version?"),
    ((P, 0, "in"), {"x": ["relu_0.tmp_0"]}, "operator 'relu' reads 'relu_0.tmp_0', which nothing before it gives"),
    ((P, 0, "attrs"), {"slope": 1}, "operator 'opsdk::relu': no attribute is called 'slope'; was it of another ver"),
    ((P, 0, "role"), "spy", "operator 'opsdk::relu': role expected forward, backward or optimize, got spy"),
    ((P, 0, "at"), 3, "a text was expected, got '3'"),
    ((P, 0, "op"), 3, "a text was expected, got '3'"),
    ((P, 0, "op"), "a" * 10_001, "a text was expected, got 'aaa"),
    ((P, 0, "check"), True, "expected one that is made of others, to be checked before them"),
    ((P, 0, "gradient_of"), "opsdk::relu@1", "expected the gradient of 'opsdk::relu', which has another one"),
    ((P, 0, "part_of"), 0, "a number expected 0 to -1, got 0"),
    ((P, 0, "specs"), {"x": ["spy", []]}, "spec 'x' expected a kind of input, got spy"),
    ((P, 0, "records"), 1, "records expected true or false, got 1"),
    ((V, 1, "shape"), [-1, 3], "operator 'opsdk::relu' gives float32(?, 2), variable 'relu_0.tmp_0' is"),
    ((V, 1, "dtype"), "int32", "operator 'opsdk::relu' gives float32(?, 2), variable 'relu_0.tmp_0' is int32"),
]


@pytest.mark.parametrize(("at", "value", "words"), LINES, ids=[f"{at} {str(value)[:12]}" for at, value, _ in LINES])
def test_a_line_that_does_not_fit_says_why(simple, at, value, words):
    message = refused(changed(simple, at, value))
    assert message.startswith("load, 'main': ")
    assert words in message
    assert len(message) < 600


def test_a_line_that_does_not_fit_is_damaged_or_edited(simple):
    assert refused(changed(simple, (P, 0, "in"), {})).endswith("got 0 variables; damaged, or edited?")


def test_operators_that_read_each_other_are_refused(simple):
    document, block, _ = simple
    block[P].reverse()
    assert "which nothing before it gives" in refused(document)


def test_an_attribute_of_another_type_is_refused(main):
    opsdk.sum(static.data("x", [2], "float32"), axis=[0])
    document = json.loads(text_of(main))
    attrs = document["programs"]["main"][P][0]["attrs"]
    name = next(name for name in attrs if "axis" in name)
    for value in ("one", {"a": 1}, [[0]], [1e400], 2**80):
        attrs[name] = value
        with pytest.raises(SavedFileError):
            read(json.dumps(document))


@pytest.mark.parametrize("part", ["variables", "operators"])
@pytest.mark.parametrize("wrong", [None, 3, [None], ["x"]])
def test_parts_that_are_none_are_refused(simple, part, wrong):
    document = copy.deepcopy(simple[0])
    document["programs"]["main"][part] = wrong
    assert "expected" in refused(document)


# -- bodies of branches and loops -------------------------------------------------------------------------------------


@pytest.fixture
def branching(main):
    """The document of a Program with a branch, and the line of its operator."""
    x = static.data("x", [2])
    x.stop_gradient = False
    y = static.nn.cond(x.sum() > 0, lambda: x * 2.0, lambda: opsdk.exp(x))
    static.gradients(y.sum(), [x])
    document = json.loads(text_of(main))
    return document, next(line for line in document["programs"]["main"][P] if line["op"] == "opsdk::cond@1"), y.name


def test_a_program_with_a_branch_and_its_gradient_is_the_same_when_read(exe, main, branching):
    document, _, name = branching
    again = read(json.dumps(document))
    assert json.loads(text_of(again)) == document
    for sign in (1, -1):
        feed = {"x": sign * np.array([1.0, 2.0], np.float32)}
        wanted, got = (exe.run(program, feed, [name, "x@GRAD"]) for program in (main, again))
        np.testing.assert_array_equal(wanted, got)
    np.testing.assert_allclose(got[0], np.exp(feed["x"]), rtol=1e-6)


BODIES = {
    "a body expected names of its own variables": lambda body: body["inputs"].append("far"),
    "a body expected to read its inputs alone": lambda body: body["inputs"].clear(),
    "nothing before it gives": lambda body: body[P].reverse(),
    "KeyError: 'outputs'": lambda body: body.pop("outputs"),
}


@pytest.mark.parametrize("text", BODIES)
def test_bodies_that_are_none_are_refused(branching, text):
    document, line, _ = branching
    then = line["attrs"]["then"]
    then[P].append(dict(then[P][0], **{"in": {"x": then["outputs"]}})) if "nothing" in text else None
    BODIES[text](then)
    assert text in refused(document)


def test_bodies_in_bodies_without_end_are_refused(branching):
    document, line, _ = branching
    inner = {"inputs": [], "outputs": [], "variables": [], P: []}
    for _ in range(60):
        inner = {**inner, P: [{"op": line["op"], "in": {}, "out": {}, "attrs": {"then": inner}}]}
    line["attrs"]["then"] = inner
    assert "at most 50 bodies were expected in one another" in refused(document)


# -- ops that nobody provides ------------------------------------------------------------------------------------------


def test_an_op_that_nobody_provides_is_told_with_what_the_file_claims(simple):
    document, block, _ = simple
    block[P][0]["op"], document["packages"] = "far\x1b[31m::half@1", {"far\\x1b[31m": "evil\x1b[2J\npip install evil"}
    with pytest.raises(UnknownOpError) as caught:
        read(json.dumps(document))
    message = str(caught.value)
    assert message.startswith("load, 'main': op 'far\\x1b[31m::half': not registered")
    assert message.endswith(r"; the file says that 'evil\x1b[2J\npip install evil' provides it")
    assert message.isprintable()


def test_another_version_of_an_op_is_told(simple):
    document, block, _ = simple
    block[P][0]["op"] = "opsdk::relu@7"
    with pytest.raises(UnknownOpError, match="expected version 7, registered is 'opsdk::relu@1'"):
        read(json.dumps(document))


def test_nothing_changes_where_a_text_is_refused(simple, main):
    document, block, _ = simple
    before = str(main), len(list(opsdk.REGISTRY))
    block[P][1]["in"] = {}
    refused(document)
    assert (str(main), len(list(opsdk.REGISTRY))) == before
    assert static.default_main_program() is main


# -- random Programs, and random damage --------------------------------------------------------------------------------


CALLS = [
    lambda draw, xs: opsdk.relu(xs[0]),
    lambda draw, xs: xs[0] * xs[-1],
    lambda draw, xs: xs[0] + draw(some.floats(-4, 4, width=32)),
    lambda draw, xs: opsdk.concat([*xs, xs[0]], axis=0)[: draw(some.integers(1, 2))] + xs[-1],
    lambda draw, xs: opsdk.sum(xs[-1], axis=draw(some.sampled_from([0, 1])), keepdim=True) * xs[0],
    lambda draw, xs: opsdk.where(xs[0] > xs[-1], xs[0], xs[-1]),
    lambda draw, xs: opsdk.nn.functional.dropout(xs[-1], draw(some.sampled_from([0.0, 0.5]))),
]


@some.composite
def programs(draw):
    """A Program of random calls, a gradient among them, and the name of what it gives."""
    main = static.Program()
    with name_guard(), static.program_guard(main):
        x = static.data("x", [2, 3], "float32")
        x.stop_gradient = False
        made = [x]
        for call in draw(some.lists(some.sampled_from(CALLS), min_size=1, max_size=6)):
            made.append(call(draw, made[-2:]))
        if draw(some.booleans()):
            made += static.gradients(made[-1].sum(), x)
    return main, made[-1].name


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs_come_back_and_give_the_same_bits(program):
    main, name = program
    text = text_of(main)
    back = read(text)
    assert text_of(back) == text
    feed, found = {"x": np.float32([[1, -2, 3], [0.5, 0, -1]])}, []
    for each in (main, back):
        with static.scope_guard(static.Scope()):
            (value,) = static.Executor().run(each, feed=feed, fetch_list=[name])
            found.append((value.shape, value.tobytes()))
    assert found[0] == found[1]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(some.data())
def test_a_damaged_text_is_read_or_refused(data):
    main = static.Program()
    with name_guard(), static.program_guard(main):
        x = static.data("x", [None, 2], "float32")
        opsdk.sum(opsdk.relu(x) * np.float32([2.0]), axis=[0])
    text = text_of(main)
    at = data.draw(some.integers(0, len(text)))
    end = data.draw(some.integers(at, min(len(text), at + 20)))
    text = text[:at] + data.draw(some.sampled_from(["", "9", "-", "[]", "null", "{}", '"x"', "\\u0000"])) + text[end:]
    try:
        document = Document(text, "load")
        for name in document.programs:
            document.program(name)
    except (SavedFileError, UnknownOpError) as error:
        assert isinstance(error, OpsdkError)

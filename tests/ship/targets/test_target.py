import pytest

from opsdk.core.errors import TargetError
from opsdk.define.op import PROVIDERS, REGISTRY
from opsdk.ship.targets.target import resolve, resolve_one
from tests.installed import install


def names(text):
    return [op.opdef.name for op in resolve(text).ops]


def test_a_loose_file_gives_its_forward_ops(right):
    assert names("good.py") == ["good::clamp"]


def test_a_colon_picks_one_op_of_a_file_its_gradient_too(right):
    assert names("good.py:clamp") == ["good::clamp"]
    assert resolve("good.py:clamp_grad").ops[0].opdef.gradient_of == "good::clamp"


def test_a_path_may_have_folders(right, here, monkeypatch):
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert names("../good.py:clamp") == ["good::clamp"]


def test_module_and_op(right):
    assert names("good:clamp") == ["good::clamp"]


def test_an_op_may_be_named_by_the_variable_that_holds_it(here):
    (here / "held.py").write_text("import opsdk\nmine = opsdk.op(name='other')(lambda x: x + 1)\n")
    assert names("held:mine") == ["held::other"]


def test_a_package_gives_the_ops_of_all_its_modules(right, here):
    package = here / "mypack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text(right.read_text().replace("clamp", "first"))
    (package / "_private.py").write_text("raise RuntimeError('not imported')")
    assert names("mypack") == ["mypack::first"]


def test_a_bare_name_is_a_built_in_op_before_it_is_a_module(here):
    (here / "relu.py").write_text("raise RuntimeError('not imported')")
    assert names("relu") == ["opsdk::relu"]
    assert names("opsdk::relu") == ["opsdk::relu"]


TWICE = "import opsdk\n@opsdk.op('{space}::twice(Tensor x) -> Tensor y')\ndef {name}(x): return 2 * x\n"


def test_what_a_file_merely_imports_is_not_its_own(here):
    (here / "helper1.py").write_text(TWICE.format(space="helper1", name="twice"))
    (here / "mine1.py").write_text("import helper1\n" + TWICE.format(space="mine1", name="twice"))
    assert names("mine1.py:twice") == names("mine1:twice") == names("mine1.py") == names("mine1") == ["mine1::twice"]
    (here / "imports1.py").write_text("import helper1\n")
    assert names("imports1.py") == []


def test_an_imported_op_is_named_by_the_variable_that_holds_it(here):
    (here / "helper2.py").write_text(TWICE.format(space="helper2", name="twice"))
    (here / "mine2.py").write_text("from helper2 import twice as doubled\n" + TWICE.format(space="a2", name="other"))
    assert names("mine2.py:doubled") == names("mine2:doubled") == names("mine2.py:helper2::twice") == ["helper2::twice"]
    assert names("mine2.py:twice") == names("mine2.py:other") == ["a2::twice"]


def test_a_name_that_fits_an_op_of_the_file_and_an_imported_one_is_refused(here):
    (here / "helper3.py").write_text(TWICE.format(space="helper3", name="twice"))
    (here / "mine3.py").write_text(TWICE.format(space="mine3", name="own") + "from helper3 import twice\n")
    expected = (
        r"mine3{0}:twice: expected a name that fits one op, it fits helper3::twice, mine3::twice; write mine3{0}:"
    )
    for ending in (".py", ""):
        with pytest.raises(TargetError, match=expected.format(ending)):
            resolve(f"mine3{ending}:twice")
        assert names(f"mine3{ending}:mine3::twice") == ["mine3::twice"]
    assert names("mine3.py:helper3::twice") == ["helper3::twice"]
    assert resolve("mine3.py").paste("mine3::twice") == "mine3.py:mine3::twice"
    found = resolve("mine3.py:mine3::twice[cpu,float64,numpy]::vjp.x")
    assert (found.ops[0].opdef.name, found.check) == ("mine3::twice", "vjp.x")


def test_an_op_that_another_files_factory_made_is_that_of_the_file_that_asked(here):
    (here / "factory4.py").write_text(
        "import opsdk\ndef make(name):\n    return opsdk.op(name=name, namespace='four')(lambda x: x + 1)\n"
    )
    (here / "mine4.py").write_text("import factory4\nOPS = [factory4.make(name) for name in ('first', 'second')]\n")
    (here / "uses4.py").write_text("import mine4\n")
    assert (names("mine4.py"), names("mine4"), names("uses4.py")) == (["four::first", "four::second"],) * 2 + ([],)


def test_a_file_that_gives_another_files_op_a_backward_or_an_infer_rule_has_that_op(here):
    (here / "bare5.py").write_text(TWICE.format(space="bare5", name="twice"))
    (here / "back5.py").write_text("from bare5 import twice\n@twice.backward\ndef back(dy): return 2 * dy\n")
    (here / "rule5.py").write_text("from bare5 import twice\n@twice.infer\ndef rule(x): return x\n")
    assert names("back5.py") == names("rule5.py") == ["bare5::twice"]


def test_a_packages_init_file_gives_the_ops_of_the_files_under_it(here):
    (here / "helper6.py").write_text(TWICE.format(space="helper6", name="twice"))
    (here / "pack6").mkdir()
    (here / "pack6" / "__init__.py").write_text("import helper6\n")
    (here / "pack6" / "inner.py").write_text(TWICE.format(space="pack6", name="twice"))
    assert names("pack6/__init__.py") == names("pack6/inner.py:twice") == names("pack6") == ["pack6::twice"]


def test_a_file_that_adds_a_row_to_an_op_has_that_op(here):
    (here / "row.py").write_text(
        "import opsdk\n@opsdk.relu.kernel('cpu', language='numpy', dtype='float16')\ndef half(x):\n    return x\n"
    )
    table = REGISTRY.find("relu").opdef.kernels
    before = list(table)
    try:
        assert names("row.py") == ["opsdk::relu"]
    finally:
        table._rows[:] = before


def test_ops_come_in_the_order_of_their_lines(here):
    (here / "two.py").write_text("import opsdk\n@opsdk.op\ndef zeta(x): return x\n@opsdk.op\ndef alpha(x): return x\n")
    assert names("two.py") == ["two::zeta", "two::alpha"]


@pytest.mark.parametrize(
    ("text", "row", "check"),
    [
        ("good.py:clamp[cpu,float64,numpy]::vjp.x", "cpu,float64,numpy", "vjp.x"),
        ("good.py:clamp[cpu,float64,numpy]", "cpu,float64,numpy", ""),
        ("good.py:clamp::vjp.x", "", "vjp.x"),
        ("opsdk::relu[cpu,*,numpy]::value.out", "cpu,*,numpy", "value.out"),
    ],
)
def test_a_findings_id_names_an_op_a_row_and_a_check(right, text, row, check):
    selection = resolve(text)
    assert len(selection.ops) == 1
    assert (selection.row, selection.check) == (row, check)


def test_ops_of_files_are_pasted_by_their_file(right):
    assert resolve("good.py").paste("good::clamp") == "good.py:clamp"
    assert resolve("relu").paste("opsdk::relu") == "opsdk::relu"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.py", r"nowhere\.py: expected a file at nowhere\.py, there is none; a target is one of relu\.py"),
        (
            "good.py:clmap",
            r"good\.py:clmap: expected an op defined there, got 'clmap'; did you mean 'clamp'\? It defines clamp, clam",
        ),
        ("good.py:mish", r"good\.py:mish: expected an op defined there, got 'mish'; it defines clamp, clamp_grad"),
        ("nothing:op", r"nothing:op: expected a module 'nothing' that can be imported from here, there is none"),
        ("good:clmap", r"good:clmap: expected an op defined there, got 'clmap'"),
        (
            "rleu",
            r"rleu: no such op, file or module; did you mean 'relu'\? Tried a registered op, a .*; registered: relu, ",
        ),
        ("no::qqq", r"no::qqq: no such op, file or module; tried"),
    ],
)
def test_a_target_that_names_nothing_says_what_was_tried(right, text, message):
    with pytest.raises(TargetError, match=message):
        resolve(text)


def test_a_bare_name_that_fits_several_ops_is_an_error(right, wrong):
    resolve("good.py"), resolve("bad.py")
    with pytest.raises(TargetError, match="expected a name that fits one op, it fits bad::clamp, good::clamp"):
        resolve("clamp")


def test_one_op_is_asked_for_and_several_are_there(here):
    (here / "two.py").write_text("import opsdk\n@opsdk.op\ndef zeta(x): return x\n@opsdk.op\ndef alpha(x): return x\n")
    with pytest.raises(TargetError, match=r"two.py: expected one op, got 2 \(two::zeta, two::alpha\)"):
        resolve_one("two.py")


def test_a_miss_loads_the_installed_providers(right, here, monkeypatch):
    install(here, "good-ops", {"clamps": "good"})
    monkeypatch.syspath_prepend(here)
    assert names("good::clamp") == ["good::clamp"]


def test_a_package_that_is_named_loads_no_other(right, here, monkeypatch):
    install(here, "bad-ops", {"bad": "no_such_module"})
    monkeypatch.syspath_prepend(here)
    assert names("good") == ["good::clamp"]
    assert PROVIDERS.failures() == ""


def test_a_target_that_names_nothing_says_which_packages_did_not_load(here, monkeypatch):
    install(here, "bad-ops", {"bad": "no_such_module"}, version="1.2")
    monkeypatch.syspath_prepend(here)
    with pytest.raises(TargetError) as caught:
        resolve("bad::op")
    assert "the installed providers, of which did not load: bad-ops 1.2 (ModuleNotFoundError: No module named" in str(
        caught.value
    )


def test_a_version_that_is_not_there_is_told_with_the_one_that_is(right):
    resolve("good.py")
    with pytest.raises(TargetError, match="expected version 2, registered is 'good::clamp@1'"):
        resolve("good::clamp@2")


def test_a_bare_name_beside_a_file_of_that_name_says_so(here, capsys):
    (here / "relu.py").write_text("raise RuntimeError('not imported')")
    assert resolve_one("relu").opdef.name == "opsdk::relu"
    assert capsys.readouterr().err == "relu is the op opsdk::relu here; meant relu.py? Name the file with its ending\n"


def test_a_folder_is_refused_with_the_files_in_it(right, here):
    with pytest.raises(TargetError) as caught:
        resolve(f"{here}/")
    assert f"{here}/: expected a file, got a folder; name its files ({here}/good.py), or a package" in str(caught.value)


def test_a_file_without_ops_is_told(here, capsys):
    (here / "empty.py").write_text("x = 1\n")
    assert resolve("empty.py").ops == ()
    assert capsys.readouterr().err == "empty.py: no op is defined there; an op is a function under @opsdk.op\n"


PRIMITIVES = """\
import opsdk


@opsdk.primitive
def soft(x):
    return x / (1 + abs(x))


@opsdk.elementwise
def doubled(x):
    return 2 * soft(x)
"""


def alone(text):
    return [op.opdef.name for op in resolve(text).primitives]


def test_primitives_stand_beside_the_ops_of_a_file_each_as_an_op(here):
    (here / "own.py").write_text(PRIMITIVES)
    assert (names("own.py"), alone("own.py")) == (["own::doubled"], ["own::soft"])
    assert (names("own.py:soft"), alone("own.py:soft")) == ([], ["own::soft"])
    assert (names("own.py:doubled"), alone("own.py:doubled")) == (["own::doubled"], [])
    assert [op.opdef.name for op in resolve("own.py:soft").shown] == ["own::soft"]
    assert [op.opdef.name for op in resolve("own.py").shown] == ["own::doubled"]
    assert resolve_one("own.py:soft").opdef.name == "own::soft"
    assert resolve_one("own.py").opdef.name == "own::doubled"


def test_a_primitive_has_a_name_and_a_module_and_an_id(here):
    (here / "own2.py").write_text(PRIMITIVES)
    assert alone("own2") == alone("own2:soft") == alone("own2::soft") == ["own2::soft"]
    assert names("own2::soft") == []
    found = resolve("own2.py:soft[cpu,float32,numba]::accuracy.soft")
    assert (found.row, found.check, found.paste("own2::soft")) == (
        "cpu,float32,numba",
        "accuracy.soft",
        "own2.py:soft",
    )
    assert REGISTRY.get("own2::soft") is None


def test_a_primitive_that_a_file_imports_is_its_own_only_where_it_is_named(here):
    (here / "own5.py").write_text(PRIMITIVES)
    (here / "uses5.py").write_text("from own5 import soft as smooth\n" + PRIMITIVES)
    assert (alone("uses5.py"), names("uses5.py")) == (["uses5::soft"], ["uses5::doubled"])
    assert (alone("uses5.py:smooth"), alone("uses5.py:soft")) == (["own5::soft"], ["uses5::soft"])


def test_a_package_gives_the_primitives_of_all_its_modules(here):
    package = here / "ownpack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text(PRIMITIVES)
    assert (names("ownpack"), alone("ownpack")) == (["ownpack::doubled"], ["ownpack::soft"])


def test_a_name_that_nothing_has_is_told_beside_those_of_primitives(here):
    (here / "own3.py").write_text(PRIMITIVES)
    with pytest.raises(TargetError, match="expected an op defined there, got 'sof'; did you mean 'soft'"):
        resolve("own3.py:sof")

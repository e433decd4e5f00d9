import pytest

import opsdk
from opsdk.core.errors import TargetError
from opsdk.ship.targets.content import Content
from opsdk.ship.targets.loading import load_file

OP = "import opsdk\n\n\n@opsdk.op('{space}::{name}(Tensor x) -> Tensor y')\ndef {name}(x):\n    return 2 * x\n"
TWO = OP.format(space="one", name="twice") + OP.format(space="two", name="twice").replace("def twice", "def other")


def content_of(folder, source, name="loose.py"):
    path = folder / name
    path.write_text(source)
    return Content.of_file(load_file(path), name, path.resolve())


def names(ops):
    return [op.opdef.name for op in ops]


def test_its_own_is_what_is_written_in_the_file_and_not_what_it_imports(here):
    (here / "imported2.py").write_text(OP.format(space="far", name="twice"))
    content = content_of(here, "from imported2 import twice\n" + OP.format(space="near", name="thrice"))
    assert names(content.ops) == ["near::thrice"]


def test_a_module_holds_what_the_modules_below_it_define(here):
    package = here / "pack3"
    package.mkdir()
    (package / "__init__.py").write_text("from pack3 import below\n")
    (package / "below.py").write_text(OP.format(space="pack3", name="twice"))
    (here / "pack3_beside.py").write_text(OP.format(space="beside", name="twice"))
    module = load_file(package / "__init__.py")
    load_file(here / "pack3_beside.py")
    assert names(Content.of_module(module, "pack3").ops) == ["pack3::twice"]


@pytest.mark.parametrize("gives", ["backward(lambda dy: 2 * dy)", "infer(opsdk.infer.like('x'))"])
def test_an_op_of_another_is_one_to_judge_once_it_is_given_something(here, gives):
    (here / "given4.py").write_text(OP.format(space="given", name="twice"))
    load_file(here / "given4.py")
    content = content_of(here, f"import opsdk\nopsdk.find_op('given::twice').{gives}\n")
    assert "given::twice" in names(content.ops)


def test_an_op_is_named_with_its_namespace_without_it_and_by_its_variable(here):
    content = content_of(here, OP.format(space="near", name="twice") + "mine = twice\n")
    for wanted in ("near::twice", "twice", "mine"):
        assert (names(content.named(wanted)[0]), content.named(wanted)[1]) == (["near::twice"], [])


def test_an_op_that_is_merely_imported_is_found_by_the_variable_that_holds_it(here):
    content = content_of(here, "from opsdk import relu as held\n")
    assert (content.ops, content.named("held")[0]) == ([], [opsdk.relu])


def test_a_primitive_is_found_by_its_name(here):
    source = "import opsdk\n\n\n@opsdk.primitive(derivative=lambda x: 2.0)\ndef doubled(x):\n    return 2.0 * x\n"
    content = content_of(here, source)
    ops, (found,) = content.named("doubled")
    assert (ops, content.primitives, found.function) == ([], [found], "doubled")


def test_a_name_that_two_ops_share_is_refused_and_both_are_named(here):
    content = content_of(here, TWO)
    assert content.shared == {"twice"}
    assert names(content.named("two::twice")[0]) == ["two::twice"]
    both = "expected a name that fits one op, it fits one::twice, two::twice; write loose.py:one::twice or "
    with pytest.raises(TargetError, match=f"^loose.py:twice: {both}loose.py:two::twice\n"):
        content.named("twice")


def test_an_unknown_name_is_refused_with_what_is_there(here):
    content = content_of(here, OP.format(space="near", name="twice"))
    with pytest.raises(
        TargetError, match=r"^loose\.py:twise: expected an op defined there, got 'twise'; .*defines .*twice"
    ):
        content.named("twise")

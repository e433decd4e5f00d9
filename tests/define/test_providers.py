import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError, NameClashError, UnknownOpError
from opsdk.define.op import find_op
from opsdk.define.op_registry import Providers
from tests.contracts.tree import REPOSITORY
from tests.installed import install, path_without_metadata

HALF = """\
import opsdk

@opsdk.op("{name}(Tensor x) -> Tensor y")
def half(x):
    return x / 2
"""
BROKEN = "import sys\n\nimport no_such_package_anywhere\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path that packages are installed into; nothing else announces ops."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder), *path_without_metadata()])
    return folder


def package(site, module, text, distribution="", version="1.0", entry=""):
    """Installs a module that is announced."""
    (site / f"{module}.py").write_text(text)
    install(site, distribution or module.replace("_", "-"), {entry or module: module}, version)


def test_an_op_that_is_missed_is_found_in_an_installed_package(site):
    package(site, "far_ops", HALF.format(name="far::half"), entry="far")
    half = find_op("far::half")
    assert half(np.array([6.0])).tolist() == [3.0]
    assert find_op("far::half@1") is half


def test_a_bare_name_is_missed_too(site):
    package(site, "far_ops", HALF.format(name="far::half"))
    assert find_op("half").opdef.name == "far::half"


def test_an_operator_of_a_program_that_names_an_op_loads_its_package(site):
    package(site, "far_ops", HALF.format(name="far::half"))
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [2], "float32")
        block = main.global_block()
        y = block.create_var(name="y", shape=[2], dtype="float32")
        block.append_op("far::half", inputs={"x": [x]}, outputs={"y": [y]})
    (value,) = opsdk.static.Executor(opsdk.CPUPlace()).run(main, feed={"x": np.ones(2, "float32")}, fetch_list=["y"])
    assert value.tolist() == [0.5, 0.5]


def test_an_op_that_is_registered_loads_nothing(site):
    package(site, "far_ops", HALF.format(name="far::half"))
    assert find_op("relu").opdef.name == "opsdk::relu"
    assert "far_ops" not in sys.modules


@pytest.mark.parametrize("entry", ["near", "near_ops"])
def test_a_package_whose_entry_point_or_module_is_the_namespace_is_loaded_alone(site, entry):
    package(site, "a_ops", HALF.format(name="a::half"))
    package(site, "near_ops", HALF.format(name=f"{entry}::half"), entry=entry)
    find_op(f"{entry}::half")
    assert "near_ops" in sys.modules
    assert "a_ops" not in sys.modules


def test_a_package_with_another_name_than_the_namespace_is_loaded_after_those(site):
    package(site, "near_ops", HALF.format(name="near::third"), entry="near")
    package(site, "far_ops", HALF.format(name="near::half"))
    assert find_op("near::half").opdef.origin.module == "far_ops"


def test_a_package_that_raises_is_named_and_the_others_are_loaded(site):
    package(site, "bad_ops", BROKEN, "Bad.Ops", "1.2")
    package(site, "far_ops", HALF.format(name="far::half"))
    with pytest.raises(UnknownOpError) as caught:
        find_op("bad::half")
    assert str(caught.value).startswith("op 'bad::half': not registered; registered: far::half, ")
    assert str(caught.value).endswith(
        "; packages that did not load: Bad.Ops 1.2 (ModuleNotFoundError: No module named 'no_such_package_anywhere', "
        f"at {site}{os.sep}bad_ops.py:3)"
    )
    assert "  help     opsdk list --providers shows every package that announces ops" in caught.value.__notes__
    assert find_op("far::half")(np.array([2.0])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise SystemExit(3)", "SystemExit: 3, at "),
        ("assert False", "AssertionError, at "),
        ("def f(:", "SyntaxError: invalid syntax (bad_ops.py, line 1))"),
        ("raise ValueError('first\\nsecond')", "ValueError: first, at "),
    ],
)
def test_whatever_a_package_raises_is_its_reason(site, text, reason):
    package(site, "bad_ops", text)
    with pytest.raises(UnknownOpError) as caught:
        find_op("bad::half")
    assert f"packages that did not load: bad-ops 1.0 ({reason}" in str(caught.value)


def test_an_entry_point_that_names_no_module_is_its_reason(site):
    install(site, "bad-ops", {"bad": "not a module!"})
    with pytest.raises(UnknownOpError, match=r"did not load: bad-ops 1\.0 \(AttributeError: "):
        find_op("bad::half")


def test_an_interrupt_goes_through(site):
    package(site, "bad_ops", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        find_op("bad::half")


def test_a_package_that_raised_is_not_tried_again(site):
    package(site, "bad_ops", f"with open({str(site / 'log')!r}, 'a') as f:\n    f.write('x')\nraise ValueError('no')\n")
    for _ in range(3):
        with pytest.raises(UnknownOpError):
            find_op("bad::half")
    assert (site / "log").read_text() == "x"


def test_a_package_installed_later_is_found(site):
    with pytest.raises(UnknownOpError):
        find_op("far::half")
    package(site, "far_ops", HALF.format(name="far::half"))
    assert find_op("far::half").opdef.name == "far::half"


def test_a_package_may_miss_an_op_of_another_while_it_is_loaded(site):
    package(site, "far_ops", HALF.format(name="far::half"))
    package(site, "near_ops", "import opsdk\nhalf = opsdk.find_op('far::half')\n", entry="near")
    with pytest.raises(UnknownOpError):
        find_op("near::half")
    assert sys.modules["near_ops"].half is find_op("far::half")


def test_metadata_that_cannot_be_read_hides_no_other_package(site):
    package(site, "far_ops", HALF.format(name="far::half"))
    info = site / "aaa-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(b"\xff\xfe[opsdk.ops]\n")
    assert find_op("far::half").opdef.name == "far::half"


def test_a_folder_without_metadata_is_called_by_its_entry_point(site):
    (install(site, "bad-ops", {"bad": "no_such_module"}) / "METADATA").unlink()
    with pytest.raises(UnknownOpError, match=r"did not load: (bad|bad_ops) \S+ \(ModuleNotFoundError: No module named"):
        find_op("bad::half")


def test_threads_that_miss_one_op_all_find_it(site):
    package(site, "far_ops", HALF.format(name="far::half"))
    found = []
    threads = [threading.Thread(target=lambda: found.append(find_op("far::half"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


# -- two packages, one name --------------------------------------------------------------------------------------------


def clashing(site, name="extras::half", entries=("one", "two")):
    package(site, "one_ops", HALF.format(name=name), "one-ops", "0.1.0", entries[0])
    package(site, "two_ops", HALF.format(name=name).replace("/ 2", "/ 3"), "two-ops", "0.3", entries[1])


def test_two_packages_that_define_an_op_differently_are_both_named(site):
    clashing(site)
    import one_ops  # noqa: F401 - by hand, before any look-up

    with pytest.raises(NameClashError) as caught:
        import two_ops  # noqa: F401
    assert str(caught.value) == (
        f"op 'extras::half@1': registered by one-ops 0.1.0 ({site}{os.sep}one_ops.py:3), got another definition from "
        f"two-ops 0.3 ({site}{os.sep}two_ops.py:3); rename it or pass replace=True"
    )
    assert any(note.startswith("  because  they differ in: the code of the forward") for note in caught.value.__notes__)


@pytest.mark.parametrize("entries", [("one", "two"), ("extras", "two"), ("one", "extras")])
def test_a_look_up_of_an_op_that_two_packages_define_never_takes_one_by_chance(site, entries):
    clashing(site, entries=entries)
    with pytest.raises(UnknownOpError):
        find_op("no::such")  # loads all
    for name in ("extras::half", "extras::half@1", "half"):
        with pytest.raises(NameClashError, match=r"registered by one-ops 0\.1\.0 .*got another .* from two-ops"):
            find_op(name)


def test_two_packages_of_the_namespace_clash_at_the_first_look_up(site):
    clashing(site, "one_ops::half", entries=("a", "one_ops"))
    with pytest.raises(NameClashError, match=r"op 'one_ops::half@1': registered by one-ops"):
        find_op("one_ops::half")


def test_the_other_ops_of_two_clashing_packages_are_found(site):
    clashing(site)
    with (site / "one_ops.py").open("a") as file:
        file.write("\n@opsdk.op('extras::same(Tensor x) -> Tensor y')\ndef same(x):\n    return x * 1\n")
    assert find_op("extras::same").opdef.name == "extras::same"


BACKWARD = "\n@half.backward\ndef half_grad(dy):\n    return dy / {}\n"


def test_two_packages_that_differ_in_the_backward_alone_clash_too(site):
    text = HALF.format(name="extras::half")
    package(site, "one_ops", text + BACKWARD.format(2))
    package(site, "two_ops", text + BACKWARD.format(4))
    with pytest.raises(UnknownOpError):
        find_op("no::such")
    for name in ("extras::half", "extras::half_grad"):
        with pytest.raises(DefinitionError, match=r"op 'extras::half': has a backward from .*one_ops.*got another"):
            find_op(name)


def test_two_packages_with_the_same_definition_agree(site):
    package(site, "one_ops", HALF.format(name="extras::half"))
    package(site, "two_ops", HALF.format(name="extras::half"))
    with pytest.raises(UnknownOpError) as caught:
        find_op("no::such")
    assert "did not load" not in str(caught.value)
    assert find_op("extras::half").opdef.origin.module == "one_ops"


# -- one package, found twice ------------------------------------------------------------------------------------------


def test_a_distribution_that_is_found_twice_counts_once(site, tmp_path, monkeypatch):
    package(site, "far_ops", HALF.format(name="far::half"), "far-ops", "0.2")
    checkout = tmp_path / "checkout"
    install(checkout, "Far_Ops", {"far_ops": "far_ops"}, "0.1")
    monkeypatch.setattr(sys, "path", [*sys.path, str(checkout)])
    first, second = Providers().announced()
    assert (first.folder, first.shadowed_by) == (str(site), "")
    assert (second.folder, second.shadowed_by) == (str(checkout), f"far-ops 0.2 in {site}")


def test_a_distribution_that_is_shadowed_is_not_loaded(site, tmp_path, monkeypatch):
    package(site, "far_ops", HALF.format(name="far::half"), entry="far")
    install(tmp_path / "checkout", "far-ops", {"far": "module_of_an_older_version"}, "0.1")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "checkout")])
    with pytest.raises(UnknownOpError) as caught:
        find_op("far::third")
    assert "did not load" not in str(caught.value)


def test_a_folder_that_is_on_the_path_twice_is_one(site, monkeypatch):
    package(site, "far_ops", HALF.format(name="far::half"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    assert len(Providers().announced()) == 1


def test_an_editable_install_is_one_though_its_metadata_lies_in_two_folders(site, tmp_path, monkeypatch):
    package(site, "far_ops", HALF.format(name="far::half"), "far-ops", "0.2")
    install(tmp_path / "src", "far_ops", {"far_ops": "far_ops"}, "0.2")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "src")])
    (only,) = Providers().announced()
    assert (only.folder, only.shadowed_by) == (str(site), "")


def test_another_module_under_the_same_version_is_shadowed(site, tmp_path, monkeypatch):
    package(site, "far_ops", HALF.format(name="far::half"), "far-ops", "0.2")
    install(tmp_path / "src", "far_ops", {"far_ops": "farther_ops"}, "0.2")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "src")])
    assert [provider.shadowed_by for provider in Providers().announced()] == ["", f"far-ops 0.2 in {site}"]


# -- what it costs -----------------------------------------------------------------------------------------------------


def test_import_opsdk_reads_no_metadata():
    code = "import sys, opsdk; opsdk.find_op('relu'); print('importlib.metadata' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

import functools
import os
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import InPlaceError
from opsdk.core.origin import PACKAGE_ROOT, Origin, caller, origin_of, shorten, warn


def line_of(function):
    return function.__code__.co_firstlineno


def plain(x):
    return x


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args):
        return 2 * function(*args)

    return wrapper


@doubled
def decorated(x):
    return x


class Holder:
    def method(self, x):
        return x


def test_the_origin_of_a_function_is_its_file_and_line():
    assert origin_of(plain) == Origin(__file__, line_of(plain), plain.__module__)


def test_the_origin_of_a_decorated_function_is_where_that_stands_and_not_its_decorator():
    assert origin_of(decorated).line == line_of(decorated.__wrapped__)


def test_partials_and_bound_methods_lead_to_the_function_inside():
    assert origin_of(functools.partial(plain, 1)).line == line_of(plain)
    assert origin_of(Holder().method).line == line_of(Holder.method)


def test_the_origin_of_a_compiled_dispatcher_is_its_python_function():
    class Dispatcher:
        py_func = staticmethod(plain)

    assert origin_of(Dispatcher()).line == line_of(plain)


def test_a_callable_without_python_code_counts_as_defined_where_it_is_used():
    found = origin_of(np.negative)
    assert Path(found.file).name == "origin.py" or found.file == __file__


def test_the_caller_is_the_nearest_frame_outside_of_the_package():
    assert caller().file == __file__


def test_a_warning_names_the_line_of_the_user_below_any_number_of_frames_of_opsdk():
    code = compile("def f(warn, n):\n    return f(warn, n - 1) if n else warn('look')\n", PACKAGE_ROOT + "a.py", "exec")
    scope = {"__name__": "opsdk.a"}
    exec(code, scope)
    for depth in (0, 1, 5):
        with pytest.warns(UserWarning, match="look") as told:
            scope["f"](warn, depth)
        assert told[0].filename == __file__


def test_a_package_whose_name_only_begins_alike_lies_outside():
    code = compile("def f():\n    return caller()\n", PACKAGE_ROOT.rstrip(os.sep) + "_extras/a.py", "exec")
    scope = {"caller": caller, "__name__": "opsdk_extras.a"}
    exec(code, scope)
    assert scope["f"]().module == "opsdk_extras.a"


def test_an_origin_prints_as_file_and_line_without_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(Origin(str(tmp_path / "my_ops" / "relu.py"), 7)) == f"my_ops{os.sep}relu.py:7"


def test_a_path_elsewhere_is_printed_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shorten(f"{tmp_path}2/relu.py") == f"{tmp_path}2/relu.py"


def test_a_path_is_printed_whole_where_the_current_folder_is_gone(monkeypatch):
    def gone():
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    assert shorten("/a/relu.py") == "/a/relu.py"


@pytest.mark.parametrize("file", ["<ipython-input-3-ab12>", "<stdin>", "<python-input-0>", "/tmp/ipykernel_71/9.py"])
def test_all_cells_of_a_session_are_one_source(file):
    assert Origin(file, 1).source == Origin("<stdin>", 9).source


def test_all_examples_of_a_doctest_are_one_source():
    assert Origin("<doctest relu.md[0]>", 1).source == Origin("<doctest relu.md[12]>", 1).source
    assert Origin("<doctest relu.md[0]>", 1).source != Origin("<doctest tanh.md[0]>", 1).source


def test_a_file_is_a_source_of_its_own():
    assert Origin("/a/relu.py", 1).source == "/a/relu.py"
    assert Origin("/tmp/ipykernel_71/9.py", 1, "my_ops").source == "/tmp/ipykernel_71/9.py"


def test_an_error_tells_nothing_of_what_opsdk_was_handling_and_all_of_what_the_user_was():
    op = opsdk.op("test_origin::add_(Tensor(a!) x, Tensor w) -> Tensor(a!) y", replace=True)(lambda x, w: None)
    with pytest.raises(InPlaceError) as plain:
        op(np.ones(2), opsdk.ones([2]))
    assert (plain.value.__context__, plain.value.__cause__) == (None, None)
    try:
        raise KeyError("mine")
    except KeyError as mine:
        with pytest.raises(InPlaceError) as beside:
            op(np.ones(2), opsdk.ones([2]))
        assert beside.value.__context__ is mine
    opsdk.unregister(op)

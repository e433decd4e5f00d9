"""Lines of functions that no run reached, of those that were entered."""

import sys
import threading

from opsdk.backends.call.lines import Lines, codes_of


def helper(x):
    return -x


def never(x):
    return x


def function(x):
    if x > 0:
        return helper(x)
    total = [
        x,
    ]
    return never(total)


def left(lines):
    first = function.__code__.co_firstlineno
    return [line - first for (_, line, _), is_reached in lines.reached().items() if not is_reached]


def test_lines_that_no_run_reached_are_told_and_functions_that_none_entered_are_not():
    lines = Lines([each.__code__ for each in (function, helper, never)])
    assert lines.reached() is None
    with lines.watching():
        function(1)
    assert left(lines) == [3, 4, 6]
    with lines.watching():
        function(0)
    assert left(lines) == []


def test_whoever_traced_before_traces_again():
    def tracer(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with Lines([function.__code__]).watching():
            function(1)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_the_code_of_a_kernel_is_its_own_and_none_of_libraries():
    assert function.__code__ in codes_of(function)
    assert codes_of(len) == []


def test_lines_that_a_thread_reaches_count_where_it_begins_under_the_tracer():
    lines = Lines([each.__code__ for each in (function, helper, never)])
    before = threading.gettrace()
    with lines.watching():
        thread = threading.Thread(target=function, args=(1,))
        thread.start()
        thread.join()
    assert left(lines) == [3, 4, 6]
    assert threading.gettrace() is before

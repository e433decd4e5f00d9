import threading

import pytest

import opsdk


def leaf():
    return opsdk.to_tensor([1.0, 2.0], stop_gradient=False)


def test_nothing_is_recorded_inside_no_grad():
    x = leaf()
    with opsdk.no_grad():
        y = x * 2.0
        assert not opsdk.is_grad_enabled()
    assert y.stop_gradient
    assert y.is_leaf
    assert opsdk.is_grad_enabled()
    assert not x.stop_gradient


@pytest.mark.parametrize("decorate", [opsdk.no_grad, opsdk.no_grad()])
def test_no_grad_decorates_with_and_without_brackets(decorate):
    @decorate
    def double(x):
        """Twice x."""
        return x * 2.0

    assert double(leaf()).stop_gradient
    assert double.__doc__ == "Twice x."
    assert opsdk.is_grad_enabled()


def test_enable_grad_resumes_inside_no_grad():
    @opsdk.enable_grad
    def double(x):
        return x * 2.0

    with opsdk.no_grad():
        with opsdk.enable_grad():
            assert not (leaf() * 2.0).stop_gradient
        assert not double(leaf()).stop_gradient
        assert (leaf() * 2.0).stop_gradient


def test_set_grad_enabled_takes_the_mode():
    with opsdk.set_grad_enabled(False):
        assert not opsdk.is_grad_enabled()
        with opsdk.set_grad_enabled(True):
            assert opsdk.is_grad_enabled()
        assert not opsdk.is_grad_enabled()


def test_the_mode_comes_back_after_an_error():
    with pytest.raises(ZeroDivisionError), opsdk.no_grad():
        raise ZeroDivisionError
    assert opsdk.is_grad_enabled()


def test_one_object_may_be_entered_again_inside_itself():
    mode = opsdk.no_grad()
    with mode:
        with mode:
            pass
        assert not opsdk.is_grad_enabled()
    assert opsdk.is_grad_enabled()


def test_a_recursive_function_may_be_decorated():
    @opsdk.no_grad
    def power(x, n):
        return x if n == 1 else power(x, n - 1) * x

    assert power(leaf(), 3).stop_gradient
    assert opsdk.is_grad_enabled()


def test_the_mode_belongs_to_the_thread():
    seen = []

    def other():
        seen.append(opsdk.is_grad_enabled())
        seen.append((leaf() * 2.0).stop_gradient)

    with opsdk.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [True, False]


def test_one_object_serves_two_threads_at_once():
    mode = opsdk.no_grad()
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def other():
        with opsdk.no_grad(), mode:  # enters with recording off, so off is what it must come back to
            inside.set()
            leave.wait(10)
        seen.append(opsdk.is_grad_enabled())

    thread = threading.Thread(target=other)
    with mode:
        thread.start()
        inside.wait(10)
    enabled_here = opsdk.is_grad_enabled()
    leave.set()
    thread.join()
    assert enabled_here
    assert seen == [True]


def test_backward_works_inside_no_grad():
    x = leaf()
    y = (x * x).sum()
    with opsdk.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]

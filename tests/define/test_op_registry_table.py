"""The registry as a table, of which the handles are numbers here."""

import threading
from types import SimpleNamespace

import pytest

from opsdk.define.kernel.kernel import KernelTable
from opsdk.define.op_registry import OpRegistry, Providers

NO_KERNELS = KernelTable()


def handle(number):
    return SimpleNamespace(number=number, opdef=SimpleNamespace(kernels=NO_KERNELS))


@pytest.fixture
def registry():
    made = OpRegistry(Providers())
    made.put("b", handle(2))
    made.put("a", handle(1))
    return made


def test_a_value_is_found_by_its_name(registry):
    assert registry.get("a") == handle(1)


def test_an_unknown_name_gives_none(registry):
    assert registry.get("c") is None


def test_names_and_values_come_in_the_order_of_the_alphabet(registry):
    assert (registry.names(), list(registry), len(registry)) == (["a", "b"], [handle(1), handle(2)], 2)


def test_a_name_can_be_asked_for(registry):
    assert "a" in registry
    assert "c" not in registry


def test_a_scope_forgets_what_was_put_inside_it(registry):
    with registry.scoped():
        registry.put("c", handle(3))
        registry.put("a", handle(9))
    assert (registry.get("c"), registry.get("a")) == (None, handle(1))


def test_a_scope_forgets_also_when_its_block_raises(registry):
    with pytest.raises(KeyError), registry.scoped():
        registry.put("c", handle(3))
        raise KeyError
    assert "c" not in registry


def test_an_iteration_is_not_disturbed_by_a_registration(registry):
    seen = []
    for value in registry:
        registry.put(f"new{value.number}", handle(0))
        seen.append(value)
    assert seen == [handle(1), handle(2)]


def test_eight_threads_lose_no_entry():
    registry = OpRegistry(Providers())

    def work(number):
        for i in range(100):
            registry.put(f"{number}.{i}", handle(i))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registry) == 800

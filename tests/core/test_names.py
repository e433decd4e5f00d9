import threading

import pytest

from opsdk.core.names import name_guard, unique_name


def test_names_count_up_per_prefix():
    with name_guard():
        assert [unique_name("fc"), unique_name("fc"), unique_name("relu")] == ["fc_0", "fc_1", "relu_0"]


def test_a_guard_starts_afresh_and_goes_on_after_it():
    with name_guard():
        unique_name("fc")
        with name_guard():
            assert unique_name("fc") == "fc_0"
        assert unique_name("fc") == "fc_1"


def test_a_guard_ends_also_when_its_block_raises():
    with name_guard():
        with pytest.raises(KeyError), name_guard():
            raise KeyError
        assert unique_name("fc") == "fc_0"


def test_threads_never_get_the_same_name():
    names = []
    prefix = f"shared{id(names)}"
    threads = [threading.Thread(target=lambda: names.extend(unique_name(prefix) for _ in range(200))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names) == sorted(f"{prefix}_{i}" for i in range(1600))


def test_a_guard_of_one_thread_is_not_felt_in_another():
    prefix = f"other{id(object())}"
    first = unique_name(prefix)
    names = []
    with name_guard():
        thread = threading.Thread(target=lambda: names.append(unique_name(prefix)))
        thread.start()
        thread.join()
    assert (first, names) == (f"{prefix}_0", [f"{prefix}_1"])

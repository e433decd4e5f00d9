import sys
import threading

from opsdk.core.bounded import Bounded


def test_the_oldest_entry_gives_way_to_a_new_one():
    held = Bounded(3)
    for i in range(5):
        held[i] = str(i)
    assert held == {2: "2", 3: "3", 4: "4"}


def test_an_entry_that_is_there_is_renewed_and_takes_no_place():
    held = Bounded(2)
    held["a"], held["b"] = 1, 2
    held["a"] = 3
    assert held == {"a": 3, "b": 2}


def test_what_was_cleared_has_room_again():
    held = Bounded(2)
    held[1] = held[2] = 0
    held.clear()
    held[3] = 1
    assert held == {3: 1}


def test_threads_that_enter_and_clear_keep_to_the_limit():
    held = Bounded(8)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    errors = []

    def work(first):
        try:
            for i in range(2_000):
                held[first + i % 50] = i
                if i % 97 == 0:
                    held.clear()
        except BaseException as error:
            errors.append(error)

    try:
        threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert len(held) <= 8

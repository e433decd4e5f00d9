import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core import random
from opsdk.core.errors import AttributeValueError
from opsdk.core.random import Draw, Generator, drawn, next_seed, seed, untaken
from tests import philox

ROOT = Path(random.__file__).parents[2]


@pytest.fixture(autouse=True)
def as_before():
    before = list(random._generators)
    yield
    random._generators[:] = before


def test_the_same_seed_gives_the_same_seeds_again():
    random.seed(7)
    first = [random.next_seed() for _ in range(3)]
    random.seed(np.int32(7))
    assert [random.next_seed() for _ in range(3)] == first


def test_seeds_differ_from_one_another():
    assert len({random.next_seed() for _ in range(50)}) == 50


@pytest.mark.parametrize("value", [-1, 1.5, True, "7", None])
def test_what_is_no_seed_is_refused(value):
    with pytest.raises(AttributeValueError, match=r"^seed: expected an integer ≥ 0, got "):
        random.seed(value)


def test_a_process_without_a_seed_draws_its_own():
    code = "from opsdk.core.random import next_seed; print(next_seed())"
    drawn = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
        for _ in range(2)
    }
    assert len(drawn) == 2


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 2, 2**40 + 3])
def test_draws_from_one_seed_start_with_it_and_never_repeat(seed):
    seeds = [drawn(seed, count) for count in range(20_000)]
    assert seeds[0] == seed
    assert len(set(seeds)) == len(seeds)
    assert all(found >> 31 == seed >> 31 for found in seeds)


def test_draws_of_neighbouring_seeds_have_nothing_in_common():
    first, second = ({drawn(seed, count) for count in range(2_000)} for seed in (5, 6))
    assert len(first & second) <= 2


def test_draws_depend_on_seed_and_count_alone():
    assert [drawn(5, count) for count in (3, 1, 3)] == [drawn(5, 3), drawn(5, 1), drawn(5, 3)]
    bits = np.array([[drawn(5, count) >> bit & 1 for bit in range(31)] for count in range(4_000)])
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.05


# -- generators


def test_generators_of_one_seed_give_equal_draws_in_equal_order_and_no_draw_twice():
    one, other = Generator(7), Generator(np.int64(7))
    first = [one.draw() for _ in range(500)]
    assert [other.draw() for _ in range(500)] == first
    assert len(set(first)) == 500
    assert first[0] == 7
    assert first[:3] == [drawn(7, count) for count in range(3)]
    assert Generator(8).draw() not in first


def test_a_draw_opens_a_generator_that_counts_its_numbers():
    key = Generator(2**63 - 1).draw()
    assert key.numpy().random(2).tolist() == [philox.uniform(int(key), i) for i in range(2)]
    wanted = np.random.Generator(np.random.Philox(int(key)))
    np.testing.assert_array_equal(key.numpy().integers(99, size=3), wanted.integers(99, size=3))


def test_a_draw_prints_as_the_generator_whose_first_one_it_is():
    draw = Generator(7)
    draw.draw()
    second = draw.draw()
    assert eval(repr(second), {"opsdk": random}).draw() == second
    assert pickle.loads(pickle.dumps(second)).__class__ is Draw


def test_a_generator_goes_on_where_a_state_was_taken():
    one = Generator(3)
    one.draw()
    state = one.state_dict()
    assert state == {"seed": 3, "count": 1}
    copies = [pickle.loads(pickle.dumps(one)), copy.deepcopy(one), Generator(99)]
    copies[2].load_state_dict(state)
    assert one.peek() == one.draw() == drawn(3, 1)
    assert [each.draw() for each in copies] == [drawn(3, 1)] * 3
    assert one.seed == 3
    assert (repr(Generator(3)), repr(one)) == ("opsdk.Generator(3)", "opsdk.Generator(3) after 2 draws")


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, True, "7"])
def test_what_is_no_seed_makes_no_generator(seed):
    with pytest.raises(AttributeValueError, match=r"^Generator: seed expected an integer from 0 to 2\*\*63 - 1, got "):
        Generator(seed)


@pytest.mark.parametrize("state", [{"seed": 1}, {"seed": 1, "count": -1}, {"count": 1}, None, 3])
def test_a_state_that_is_none_leaves_a_generator_as_it_was(state):
    one = Generator(5)
    with pytest.raises(AttributeValueError, match=r"Generator: (seed|count) expected an integer from 0"):
        one.load_state_dict(state)
    assert one.state_dict() == {"seed": 5, "count": 0}


def test_threads_take_each_draw_once():
    one, taken = Generator(1), []
    threads = [threading.Thread(target=lambda: taken.extend(one.draw() for _ in range(200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(drawn(1, count) for count in range(800))


def test_the_global_stream_goes_on_where_its_state_was_taken(tmp_path):
    opsdk.seed(11)
    opsdk.rand([3])
    opsdk.save(opsdk.get_rng_state(), tmp_path / "rng.pdparams")
    wanted = [opsdk.rand([4]).tolist(), opsdk.nn.functional.dropout(opsdk.ones([20])).tolist()]
    opsdk.seed(5)
    opsdk.set_rng_state(opsdk.load(tmp_path / "rng.pdparams"))
    assert [opsdk.rand([4]).tolist(), opsdk.nn.functional.dropout(opsdk.ones([20])).tolist()] == wanted


@pytest.mark.parametrize("state", [None, {}, {"state": 1}, {"bit_generator": "PCG64", "state": {"state": -1}}])
def test_what_is_no_state_of_the_stream_leaves_it_as_it_is(state):
    opsdk.seed(7)
    before = opsdk.get_rng_state()
    with pytest.raises(AttributeValueError, match="set_rng_state: expected what get_rng_state gives, got "):
        opsdk.set_rng_state(state)
    assert opsdk.get_rng_state() == before


def test_a_generator_has_torchs_words():
    first = opsdk.Generator(device="cpu").manual_seed(5)
    state = first.get_state()
    draws = [first.draw() for _ in range(3)]
    assert first.initial_seed() == 5
    first.set_state(state)
    assert [first.draw() for _ in range(3)] == draws
    assert len({opsdk.Generator().seed, opsdk.Generator("cpu").seed, opsdk.Generator().seed}) == 3


def test_the_global_stream_says_what_it_began_with():
    before = opsdk.get_rng_state()
    opsdk.manual_seed(7)
    assert opsdk.initial_seed() == 7
    opsdk.set_rng_state(before)
    assert opsdk.initial_seed() == 7


def test_a_stream_that_nobody_seeded_began_with_what_the_machine_drew(monkeypatch):
    monkeypatch.setattr(random, "_generators", [])
    monkeypatch.setattr(random, "_first", [])
    first = opsdk.initial_seed()
    seeds = [random.next_seed() for _ in range(3)]
    opsdk.seed(first)
    assert [random.next_seed() for _ in range(3)] == seeds
    state = opsdk.get_rng_state()
    monkeypatch.setattr(random, "_first", [])
    opsdk.set_rng_state(state)
    assert opsdk.initial_seed() == opsdk.initial_seed() >= 0


def test_draws_that_are_not_taken_are_numbers_of_their_own_and_move_no_generator():
    seed(5)
    expected = [next_seed() for _ in range(2)]
    seed(5)
    with untaken():
        drawn = [next_seed() for _ in range(3)]
    assert drawn == [1, 2, 3]
    assert [next_seed() for _ in range(2)] == expected

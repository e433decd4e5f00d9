import pytest

from tests.contracts import seconds
from tests.contracts.tree import plant, read_tree

HEAD = '"""Planted."""\n\nimport numpy as np\n\n\n'


def planted(tmp_path, path, *lines):
    body = "".join(f"    {line}\n" for line in lines)
    return plant(tmp_path, {path: f"{HEAD}def f(x, y, rng):\n{body}"})


@pytest.fixture(scope="module")
def tree():
    return read_tree()


FINDERS = [seconds.second_perturbations, seconds.second_judges, seconds.second_memory_tests, seconds.second_digests]


@pytest.mark.parametrize("find", FINDERS)
def test_each_mechanism_is_there_once(tree, find):
    assert find(tree) == []


@pytest.mark.parametrize(
    ("name", "find"),
    [
        ("PERTURBS", seconds.second_perturbations),
        ("COMPARES", seconds.second_judges),
        ("READS", seconds.second_digests),
    ],
)
def test_every_exemption_is_needed(tree, monkeypatch, name, find):
    known = getattr(seconds, name)
    monkeypatch.setattr(seconds, name, {})
    assert {problem.partition(".py")[0].replace("/", ".") for problem in find(tree)} == set(known)


def test_every_home_of_a_question_for_memory_is_there(tree):
    assert set(seconds.ASKS) <= set(tree)


@pytest.mark.parametrize(
    "lines",
    [
        ["return x * (1.0 + 1e-16 * rng.choice([-1.0, 1.0], x.shape))"],
        ["units = rng.integers(-8, 9, x.shape)", "return (1 + units * 1e-16) * x"],
        ["return np.nextafter(x, np.inf)"],
    ],
)
@pytest.mark.parametrize("path", ["gradcheck/checks/planted.py", "opsdk/verify/planted.py"])
def test_a_second_perturbation_is_found(tmp_path, path, lines):
    (problem,) = seconds.second_perturbations(planted(tmp_path, path, *lines))
    assert problem.startswith(path)
    assert problem.endswith("perturbs numbers; call gradcheck.model.perturb")


@pytest.mark.parametrize(
    "line",
    [
        "return np.allclose(x, y)",
        "return np.isclose(x, y).all()",
        "return np.all(np.abs(x - y) <= 1e-9)",
        "return (np.abs(x - y)[x > 0] > 1e-9).any()",
    ],
)
def test_a_second_judge_of_two_arrays_is_found(tmp_path, line):
    (problem,) = seconds.second_judges(planted(tmp_path, "opsdk/verify/planted.py", line))
    assert problem.startswith("opsdk/verify/planted.py:7: judges two arrays; call gradcheck.checks.agreement or")


@pytest.mark.parametrize("call", ["np.may_share_memory(x, y)", "np.shares_memory(x, y)", "sys.getrefcount(x)"])
def test_a_second_test_for_new_memory_is_found(tmp_path, call):
    (problem,) = seconds.second_memory_tests(planted(tmp_path, "opsdk/static/planted.py", f"return {call}"))
    name = call.partition("(")[0].partition(".")[2]
    assert f"opsdk/static/planted.py:7: asks {name}; whether an array is new is known to" in problem


@pytest.mark.parametrize(
    "read", ["x.__code__.co_code", "x.__code__.co_consts", "x.__closure__", "dis.get_instructions(x)"]
)
def test_a_second_digest_of_functions_is_found(tmp_path, read):
    (problem,) = seconds.second_digests(planted(tmp_path, "opsdk/backends/planted.py", f"return {read}"))
    assert problem.startswith("opsdk/backends/planted.py:7: reads ")
    assert problem.endswith("; opsdk.define.identity knows what a function is made of")
    at_home = planted(tmp_path / "home", "opsdk/define/identity/planted.py", f"return {read}")
    assert seconds.second_digests(at_home) == []


def test_draws_and_sizes_and_numbers_are_left_alone(tmp_path):
    lines = ["z = 2 * rng.choice(x) + 1", "return abs(x - y) <= z and np.abs(x) <= 1 and x * (1 + y) > z"]
    tree = planted(tmp_path, "gradcheck/checks/planted.py", lines[0], "return z")
    assert seconds.second_perturbations(tree) == []
    assert seconds.second_judges(planted(tmp_path, "gradcheck/checks/planted.py", lines[1])) == []
    elsewhere = planted(tmp_path, "opsdk/ops/planted.py", "return x * (1 + rng.uniform(x)) if np.allclose(x, y) else y")
    assert seconds.second_perturbations(elsewhere) == seconds.second_judges(elsewhere) == []

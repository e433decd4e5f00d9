import pytest

from tests.contracts import sums
from tests.contracts.tree import plant, read_tree


def test_every_sum_comes_through_one_mechanism():
    assert sums.raw_sums(read_tree()) == []


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("np.sum(x, axis=0)", "np.sum"),
        ("np.add.at(y, i, x)", "np.add.at"),
        ("np.add.reduce(x)", "np.add.reduce"),
        ("x.sum(axis=0)", "x.sum"),
        ("f(x).mean()", "(...).mean"),
        ("np.einsum('ij->i', x)", "np.einsum"),
    ],
)
def test_a_raw_sum_is_found(tmp_path, line, called):
    tree = plant(tmp_path, {"opsdk/ops/planted.py": f'"""Planted."""\n\nimport numpy as np\n\n{line}\n'})
    (problem,) = sums.raw_sums(tree)
    assert f"planted.py:5: {called} adds in the array's own dtype" in problem


def test_other_calls_and_other_floors_are_left_alone(tmp_path):
    text = '"""Planted."""\n\nimport numpy as np\n\nsum([1, 2])\nnp.prod(x)\nsums.total(x)\n'
    other = '"""Planted."""\n\nimport numpy as np\n\nnp.sum(x)\n'
    assert sums.raw_sums(plant(tmp_path, {"opsdk/ops/planted.py": text, "opsdk/ship/planted.py": other})) == []

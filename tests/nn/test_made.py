import inspect

import pytest

from opsdk import nn
from opsdk.nn.made import made, options

KINDS = {"size": ("int",), "step": ("int", 1), "dtype": ("str", "float32"), "bias": ("bool", True)}


class Told(nn.Layer):
    def _begin(self, **told):
        super().__init__()
        self.told = told


Made = made(__name__, "Made", (Told,), options("size step * bias dtype=None", KINDS), "What it was told.", axes=2)


def test_a_constructor_lists_its_options_in_the_order_of_the_entry():
    wanted = "(size: 'int', step: 'int' = 1, *, bias: 'bool' = True, dtype: 'str | None' = None) -> None"
    assert str(inspect.signature(Made)) == wanted
    assert str(inspect.signature(Made.__init__)) == f"(self, {wanted[1:]}"


def test_the_base_begins_a_layer_with_every_option_by_name():
    assert Made(3, bias=False).told == {"size": 3, "step": 1, "bias": False, "dtype": None}
    assert (Made.axes, Made.__doc__, Made.__module__) == (2, "What it was told.", __name__)


@pytest.mark.parametrize("given", [(), (3, 1, True)])
def test_what_does_not_fit_the_options_is_pythons_own_error(given):
    with pytest.raises(TypeError, match=r"missing a required argument: 'size'|too many positional arguments"):
        Made(*given)

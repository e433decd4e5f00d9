"""Activations as layers, each made from its entry in `ops/activation.py`."""

from __future__ import annotations

from typing import Any

from opsdk.core.written import written
from opsdk.nn import functional
from opsdk.nn.functions.words import in_both_words, put
from opsdk.nn.layer.layer import Layer
from opsdk.ops.activation import ACTIVATIONS, Activation
from opsdk.ops.normalization import log_softmax, softmax

_IN_PLACE = "inplace: puts what comes out in the place of what goes in, which has to be a tensor."


# Any, in this file: tensors, variables or arrays, values of attributes, and functions of any signature.
class _InPlace(Layer):
    """A layer whose result may take the place of what it is given."""

    inplace = False
    _options: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        """Returns what it was made with."""
        told = [f"{option}={getattr(self, option)}" for option in self._options]
        return ", ".join([*told, *(["inplace=True"] if self.inplace else [])])


def _layer(activation: Activation, base: type[Layer] = _InPlace) -> type[Layer]:
    """Returns the layer of an activation, which is made with the attributes of the op."""
    name, opdef = activation.layer, activation.op.opdef
    doc = str(opdef.doc)
    options = activation.options
    function = getattr(functional, activation.op.__name__) if options else activation.op

    def member(method: Any, kind: str, types: dict[str, str], doc: str, *defaults: Any) -> Any:
        place, source = f"{name}.{kind}", opdef.origin
        return written(method, place, types, module=__name__, doc=doc, self=True, defaults=defaults, origin=source)

    taken, told = {"x": "Any", "return": "Any"}, f"Returns {doc[0].lower()}{doc[1:]} Differentiable."
    members: dict[str, Any] = {"__module__": __name__, "__doc__": doc}
    one, other = [*options, "", ""][:2]

    def started(self: Layer, name: str | None, inplace: bool, **values: Any) -> None:
        Layer.__init__(self, name)
        if inplace:
            self.inplace = True
        for option, value in values.items():
            setattr(self, option, value)

    start = (
        (lambda self, first, second, inplace, name: started(self, name, inplace, **{one: first, other: second}))
        if other
        else (lambda self, value, inplace, name: started(self, name, inplace, **{one: value}))
        if one
        else (lambda self, inplace, name: started(self, name, inplace))
    )
    annotations = {**activation.annotations, "inplace": "bool", "name": "str | None", "return": "None"}
    defaults = [*(default for _, default in options.values()), False, None]
    members["__init__"] = in_both_words(member(start, "__init__", annotations, "", *defaults))

    def forward(self: Any, x: Any) -> Any:
        made = function(x, *[getattr(self, option) for option in options]) if options else function(x)
        return put(x, made, name) if self.inplace else made

    about = [f"{option}: {about}" for option, about in zip(options, activation.about, strict=True)]
    listed = "\n    ".join([*about, _IN_PLACE, "name: start of the layer's unique name."])
    members |= {"__doc__": f"{doc}\n\nArgs:\n    {listed}", "_options": tuple(options)}
    members["forward"] = member(forward, "forward", taken, told)
    return type(name, (base,), members)


_layers = {each.layer: _layer(each) for each in ACTIVATIONS.values()}
_layers["Softmax"] = _layer(Activation(softmax, "Softmax", ("along which.",)))
_layers["LogSoftmax"] = _layer(Activation(log_softmax, "LogSoftmax", ("along which.",)), _layers["Softmax"])
for _name, _same in {"SiLU": "Silu", "Swish": "Silu"}.items():
    _layers[_name] = type(_name, (_layers[_same],), {"__module__": __name__, "__doc__": _layers[_same].__doc__})
globals().update(_layers)

__all__ = [*_layers]

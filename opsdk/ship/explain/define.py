"""Explanations of the codes OP1xx: defining an op."""

from __future__ import annotations

TEXTS = {
    "OP101": """
        A schema is `name(Tensor x, *, float slope=0.1) -> Tensor y`. Tensors come first, attributes after the `*`.
        Without a schema it is read from the function: positional parameters are tensors, annotated keyword-only
        ones are attributes.

          wrong   def leaky(x, slope=0.1): ...
          right   def leaky(x, *, slope: float = 0.1): ...
        """,
    "OP102": """
        Backwards, kernels and infer functions take what they need by name: inputs, outputs, `d<output>` for the
        cotangent of an output, and attributes. What a backward names is what the forward saves for it.

          wrong   def relu_grad(y, dz): ...      the output is y, so its cotangent is dy
          right   def relu_grad(y, dy): ...
        """,
    "OP103": """
        What was declared about the op cannot all be true, or comes too late: a backward after the op was used in a
        graph, a second backward from another file, a trait of an input that the op does not have. Graphs that exist
        keep the definition that they were built with; `replace=True` says that later ones get the new one.
        """,
    "OP110": """
        Two files define an op of the same name. Running the same file or notebook cell again replaces the op with a
        notice; another origin is an error, since one of the two would silently win.

          either  @opsdk.op(namespace="mine")    another name
          or      @opsdk.op(replace=True)        this one, on purpose

        Where both files belong to installed packages, the message names these, and every look-up of the op by name
        raises: which of the two came first is chance. `opsdk list --providers` shows them.
        """,
    "OP120": """
        An expression is read by calling the function once with symbols, which have no values. So an `if`, a `while` or
        an `and` on one has nothing to go by, and math.exp or int nothing to convert. Attributes that are no numbers,
        such as a str or a bool, have their values and may be tested.

          wrong   if x > 0: return x
                  return slope * x
          right   return vmath.where(x > 0, x, slope * x)
          or      @opsdk.op, with a loop as a row: @leaky.kernel("cpu", language="numba")
        """,
    "OP111": """
        Names are `namespace::name`. A bare name is looked up among the built-in ops, then must fit exactly one op.
        Ops of a package are registered when it is imported; installed packages that announce ops (docs/packages.md)
        are imported when a name is not found. `opsdk list` prints every name, `opsdk list --providers` every package
        and why it did not load.
        """,
}

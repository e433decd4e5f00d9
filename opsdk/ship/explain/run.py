"""Explanations of the codes OP2xx: calling an op, differentiating, running a Program."""

from __future__ import annotations

TEXTS = {
    "OP201": """
        The call, or what a callable returned, has too many or too few values. A backward returns one gradient per
        differentiable input, in the inputs' order, or a dict by input name.

          wrong   return dy * w                  two differentiable inputs, one value
          right   return dy * w, dy * x          or {"x": dy * w, "w": dy * x}
        """,
    "OP202": """
        A kernel returned another dtype than the infer rule says, or a value's dtype is not supported. NumPy promotes:
        float32 times a float64 array is float64.

          wrong   return x * np.array(0.5)
          right   return x * x.dtype.type(0.5)   or declare the dtype with an infer rule
        """,
    "OP203": """
        Shapes do not fit one another, or not what was declared. A gradient has its input's shape; where an input was
        broadcast, its gradient is the sum over the broadcast axes.

          right   opsdk.sum_to(dw, w.shape)      or infer=opsdk.infer.broadcast, and opsdk sums
        """,
    "OP204": """
        Attributes are checked against the schema before anything runs: `float` takes ints and floats, `int` no
        floats, `int[]` a list of ints.
        """,
    "OP205": """
        A kernel returns a NumPy array, or a tuple of them for several outputs; a backward also None where the input
        was declared disconnected. Printing and forgetting to return is the usual cause.
        """,
    "OP206": """
        A kernel changed one of its inputs in place. Others may still need that array: a later op, the backward.

          either  x = x.copy()
          or      declare it: f(Tensor(a!) x) -> Tensor(a!)
        """,
    "OP207": """
        A kernel returned an input's own memory. A later change in place of one would change the other.

          either  return x.copy()
          or      declare it: f(Tensor(a) x) -> Tensor(a)
        """,
    "OP208": """
        An input holds a value that the op does not take, such as an index outside of the array that it is taken from.
        The op's author wrote the check, `@op.check`; it is asked before any row runs, so nothing was computed.
        """,
    "OP210": """
        A gradient was asked for and the op has no backward. Zeros are never made up.

          right   @clip01.backward
                  def clip01_grad(x, dy): ...    the names say what is saved
          or      nondifferentiable=("x",)       where the derivative is zero or meaningless
        """,
    "OP211": """
        The backward is NumPy code, which opsdk cannot differentiate again. Three ways to a second derivative:

          1       @relu_grad.backward            a backward of the backward, any NumPy
          2       @relu.backward(composite=True) written with opsdk's own ops, any order
          3       leave it out, and do not ask for create_graph=True
        """,
    "OP212": """
        A backward reads a value that was changed in place after the forward saved it; its gradient would be wrong.
        Change a copy, or change it after `backward()`.
        """,
    "OP213": """
        The graph of this tensor was freed by an earlier `backward()`, or was never recorded: every input has
        stop_gradient=True, or the calls ran under `no_grad`. `backward(retain_graph=True)` keeps the graph.
        """,
    "OP214": """
        A tensor with stop_gradient=False is a leaf of the graph; changing it in place would change the function that
        is being differentiated.

          right   with opsdk.no_grad(): w.set_value(...)

        Memory where one place stands for several elements, of one array or of two that the op changes, has no one
        result: each kernel would give another.

          right   swap_(x, x.copy())
        """,
    "OP215": "A hook takes the gradient and returns None, or a tensor of the same shape and dtype in its place.",
    "OP216": """
        One call got a dynamic tensor and a Program's variable. A Program is built from variables, constants and
        arrays; feed the tensor's values when it runs.
        """,
    "OP217": """
        A NumPy function was called on a tensor that needs a gradient, or on a Program variable, and no op does the
        same: the result would be a bare array, cut off from the graph. np.exp, np.sum and the like are recorded.

          either  np.arctan(x.detach().numpy())  outside of the graph, on purpose
          or      define an op: @opsdk.op with np.arctan in it, and its backward
        """,
    "OP220": """
        No row of the op serves this place and dtype. The message lists the rows. `opsdk show OP` says where each is.
        """,
    "OP221": """
        A tensor was asked for at a place that has no device here, or one call got tensors of two places.

          right   opsdk.add(x, opsdk.to_tensor(y, place=x.place))
          either  run where there is a CUDA device
          or      simulate one: NUMBA_ENABLE_CUDASIM=1 in the environment, before Numba is imported
        """,
    "OP222": """
        A CUDA row has no launch shape, or one that asks for more than a device takes: at most 1024 threads a block, in
        up to three dimensions, and at least one block where there is something to write.

          right   @f.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
          right   launch=lambda x: (-(-x.size // 128), 128)
        """,
    "OP223": """
        A C function returned another int32_t than 0, which is how it refuses its inputs. A source may say what its
        numbers mean:

          right   const char *opsdk_message(int32_t status) { return status == 1 ? "the shapes differ" : 0; }
        """,
    "OP224": """
        The row was compiled with parallel=True and ran before the process forked. GNU OpenMP, on whose threads Numba
        runs it, ends a child that goes on with it, so the row is refused there.

          either  multiprocessing.get_context("spawn"), or "forkserver"
          or      NUMBA_THREADING_LAYER=workqueue
          or      the first call of the row after the fork, in each child
        """,
    "OP230": """
        An Operator or Variable would not fit the Program: a name used twice with another shape, an unknown op type,
        a missing input. The Block is left as it was.
        """,
    "OP231": "The message lists the nearest names. Names belong to one Program; a Scope holds values of runs.",
    "OP232": """
        The feed has one array per `static.data` that the run reads, whatever is fetched (with `use_prune=True`, that
        the fetched values need), under its name, with its dtype and a shape that agrees in every dimension that
        was given a size.
        """,
    "OP233": "fetch_list holds variables of the Program that is run, or their names.",
    "OP234": """
        Parameters get their values from the startup program.

          right   exe.run(startup)               once, before exe.run(main, ...)
        """,
    "OP235": """
        A state dictionary is read whole or not at all: the message lists the names that are missing and those that
        nothing has. Nothing was copied.

          either  layer.load_state_dict(state, strict=False)    what fits is read, the names of the rest are returned
          or      rename the keys: layer.state_dict().keys() are the names that are expected
        """,
}

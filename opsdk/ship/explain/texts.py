"""Explanations of error codes.

OP1xx are of defining an op, OP2xx of calling, differentiating and running, OP3xx to OP5xx of proofs, builds and files.
"""

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
          or      @opsdk.op, with a loop as a kernel: @leaky.kernel("cpu", language="numba")
        """,
    "OP111": """
        Names are `namespace::name`. A bare name is looked up among the built-in ops, then must fit exactly one op.
        Ops of a package are registered when it is imported; installed packages that announce ops (docs/packages.md)
        are imported when a name is not found. `opsdk list` prints every name, `opsdk list --providers` every package
        and why it did not load.
        """,
    "OP201": """
        The call, or what a callable returned, has too many or too few values. A backward returns one gradient per
        differentiable input, in the inputs' order, or a dict by input name.

          wrong   return dy * w                  two differentiable inputs, one value
          right   return dy * w, dy * x          or {"x": dy * w, "w": dy * x}
        """,
    "OP202": """
        A kernel returned another dtype than the infer rule says, or a value's dtype is not supported. NumPy promotes:
        float32 times a float64 array is float64. The rule opsdk.infer.broadcast says opsdk.promote_types of the inputs.

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
        The op's author wrote the check, `@op.check`; it is asked before any kernel runs, so nothing was computed.
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

        A backward that reads a residual of floats has but the first: its backward returns the gradient of each
        differentiable input too, with what goes through the residual.
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
    "OP218": """
        A PyLayer's forward returns at least one tensor, alone or in lists and tuples. Its backward returns a Tensor or
        None for each tensor that forward took, in order, of its shape and dtype; for a list of tensors a list.

          right   def forward(ctx, x, y, factor): ...
                  def backward(ctx, dz): return dx, dy
        """,
    "OP219": """
        Inside of `opsdk.autograd.detect_anomaly()` a call was made whose backward gave nan, where none entered it. The
        message says where; that is the call to look at, as a square root or a logarithm at 0.
        """,
    "OP220": """
        No kernel of the op serves this place and dtype. The message lists the kernels. `opsdk show OP` says where each
        is.
        """,
    "OP221": """
        A tensor was asked for at a place that has no device here, or one call got tensors of two places.

          right   opsdk.add(x, opsdk.to_tensor(y, place=x.place))
          either  run where there is a CUDA device
          or      simulate one: NUMBA_ENABLE_CUDASIM=1 in the environment, before Numba is imported
        """,
    "OP222": """
        A CUDA kernel has no launch shape, or one that asks for more than a device takes: at most 1024 threads a block,
        in up to three dimensions, and at least one block where there is something to write.

          right   @f.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
          right   launch=lambda x: (-(-x.size // 128), 128)
        """,
    "OP223": """
        A C function returned another int32_t than 0, which is how it refuses its inputs. A source may say what its
        numbers mean:

          right   const char *opsdk_message(int32_t status) { return status == 1 ? "the shapes differ" : 0; }
        """,
    "OP224": """
        The kernel was compiled with parallel=True and ran before the process forked. GNU OpenMP, on whose threads Numba
        runs it, ends a child that goes on with it, so the kernel is refused there.

          either  multiprocessing.get_context("spawn"), or "forkserver"
          or      NUMBA_THREADING_LAYER=workqueue
          or      the first call of the kernel after the fork, in each child
        """,
    "OP225": """
        A kernel fills buffers whose sizes its data decide, and something is wrong with a size: `sizes=` or `bound=`
        gave what is no size, or the kernel filled another number than that, or more than there was room for. The two
        count the same thing, so one of them counts wrong.

          right   @f.kernel("cpu", language="numba", sizes=lambda x: np.count_nonzero(x))
          right   return filled   # at the end of the kernel; in C and CUDA: sizes[0] = filled
        """,
    "OP226": """
        `opsdk.grad` was asked for the gradient of a tensor that the outputs do not depend on, or only by what an op
        declares to pass no gradient on. A gradient that does not exist is not zeros.

          right   opsdk.grad(y, [x, unused], allow_unused=True)    None for that one
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
    "OP236": """
        An optimizer that was given a schedule takes its rate from there: `scheduler.step()` goes on, and
        `optimizer.set_lr_scheduler(other)` takes another one. A schedule of a fixed length has no rate behind its end.
        """,
    "OP237": """
        What a layer registers becomes an attribute of it, and a part of dotted names: `block.0.weight`. So the name is
        a text without a dot, and no other attribute has it.
        """,
    "OP238": """
        Axes of a value with n of them are -n to n - 1, each at most once. As NumPy's, the error is a ValueError and an
        IndexError; PyTorch raises the latter.
        """,
    "OP240": """
        What a dataset raises in a worker is raised by the loop over the DataLoader, as the exception that it is, with
        the worker's traceback as a note. This error is for a process that could not say anything: one that was killed,
        often for its memory, or that crashed in native code. num_workers=0 makes the batches in this process, where a
        debugger sees it.
        """,
    "OP301": """
        The backward was compared with a numerical derivative in float64 and differs from it by more than the error
        that the comparison itself can make. The report names the input, one element, both values and, where exactly
        one pattern fits, the cause. The usual ones: a sign, a missing factor, a mask with >= for >, a sum over
        broadcast axes left out, a saved value overwritten.

          next    the report's `rerun` line repeats just this check with the same seed
        """,
    "OP302": """
        A kernel crashed: a C kernel that left its arrays, an assertion of a library, memory that ran out. The message
        has the signal and the line where Python was, which for a C kernel is the one that registered it. An op with a
        C kernel is verified in a process of its own, with `--jobs` or `--timeout` every op is; the others go on.

          next    the report's `rerun` line; a debugger sees more, in one process:
                  gdb --args python -c "import opsdk, relu; opsdk.verify(relu.relu)"
        """,
    "OP401": """
        A kernel in a compiled language did not compile. The op's other kernels still run: opsdk chooses among the
        kernels that serve a place and dtype, and the reference kernel always works.
        """,
    "OP402": """
        C kernels are compiled on first launch with $OPSDK_CC, $CC, or the first of cc, gcc and clang on the PATH.

          either  apt install gcc                   (macOS: xcode-select --install)
          or      build the kernels ahead of time, so that your users need no compiler: docs/packages.md
        """,
    "OP403": """
        What is compiled is kept in $OPSDK_CACHE_DIR, or in opsdk's folder in your cache folder, ~/.cache on Linux;
        where that cannot be written, or others may write to it, in a temporary folder until the process ends. Here
        neither can: the disk is full, a quota or a limit of file sizes is reached, or both are read-only.

          right   make room, or export OPSDK_CACHE_DIR=/some/folder/of/yours
        """,
    "OP411": """
        Numba compiles a typed subset of Python. The first line of the message is Numba's own reason; its whole text
        is the cause of the error. Often a variable is a number on one line and an array on another.

          wrong   acc = 0.0
                  for i in range(len(x)): acc += x[i]        x is 2-d, so x[i] is a row
          right   for i in range(x.size): acc += x.flat[i]
        """,
    "OP501": """
        Numba, cffi and the other frameworks are loaded only where they are needed. The message says which extra of
        opsdk installs the one that is missing.
        """,
    "OP510": """
        A TARGET is one of: relu.py (every op of the file), relu.py:relu, module:op, package, namespace::name, a bare
        name, or the id that a finding prints. A loose file needs no package and no installation.

        The ops of a file are those that it defines or gives something; what it merely imports is another file's. The
        name behind the colon is that of one of them or of a variable of the file, which may hold an imported op. Where
        it fits two, write the full name: relu.py:mine::relu.

        The same code is for what else a command is told to use or write: a file of --peers, a size for --n, a report
        that `opsdk report` reads, a folder that cannot be written. The message says which it is and what was expected.
        """,
    "OP511": """
        The file or module that defines the op raised while it was loaded, or is not Python. The message gives the
        error's own text and the last of your lines that ran. `opsdk --traceback check …` shows all of it. What opsdk
        refuses in a definition is told under its own code instead.
        """,
    "OP512": """
        `opsdk new` makes a folder of its own, and changes none that is there. The name of the package has to be one
        that can be imported: lower-case letters, digits and _, no word of Python, and no package that is there already.
        """,
    "OP520": """
        What is loaded is looked at whole first, and nothing was changed. The message says which it is: a file that
        is not as long as it says it is, as after a copy that broke off; other bytes than were written, by the
        checksum; a format that a later opsdk writes; a file of another program; or a class or function that a file
        names. opsdk runs nothing that a file names.

          a whole model   opsdk.load(path, classes=[Net])    each class that it is made of, apart from opsdk's own
          a pickle        Paddle's, of arrays, numbers, texts and containers, are read; load another one with what
                          wrote it, and save its arrays with opsdk.save
        """,
    "OP521": "The path is taken from the working folder on. The message lists what lies beside it.",
    "OP522": """
        The older file, where one was there, is as it was: a new one takes its place when it is on the disk whole.
        """,
}

"""Second mechanisms: of perturbing, judging arrays, telling new memory and digesting functions there is one."""

import ast

DRAWS = {"choice", "integers", "uniform", "normal", "standard_normal", "random"}
PERTURB = "gradcheck.model.perturb"
PERTURBED = ("gradcheck", "opsdk.verify", "opsdk.ship.bench")
# By module, why it moves numbers otherwise.
PERTURBS = {
    "gradcheck.numeric.hidden": "asks for the next number of a dtype, and how far forward moves with it",
    "opsdk.verify.inputs.calls": "draws whole numbers beside 0, which are not to be the old ones",
}

JUDGES = ("gradcheck.checks.agreement", "gradcheck.numeric.tolerance", "opsdk.verify.kernels.agreement")
JUDGED = ("gradcheck.checks", "opsdk.verify", "opsdk.ship.bench")
# By module, why it compares by itself.
COMPARES = {
    "gradcheck.checks.ties": "slopes on both sides of a tie, of which a kink has two",
    "gradcheck.checks.transpose": "beside a derivative that has an error bar of its own",
    "opsdk.ship.bench.right": "a peer may round as it likes, and the first element that differs is told",
    "opsdk.verify.asked": "zeros for None are the same computation, to a few digits",
    "opsdk.verify.kernels.reach": "one result in three formats, of which none is the truth",
    "opsdk.verify.kernels.relations": "terms may cancel, or both sides are NumPy's, by other functions",
    "opsdk.verify.parity": "a gradient is added up in another order, a second derivative taken along two ways",
}

SHARES = {"may_share_memory", "shares_memory", "getrefcount"}
# By module, what it asks; the packages of `backends` that know memory may ask anything.
ASKS = {
    "gradcheck.checks.memory": "any function's results, knowing NumPy alone",
    "opsdk.autograd.accumulate": "whether a sum may be written into the contribution",
    "opsdk.backends.call": "what a kernel made, and what it was given",
    "opsdk.backends.cuda.author": "whether a kernel handed its view on",
    "opsdk.backends.memory": "what is lent, and to whom",
    "opsdk.verify.kernels.rows": "whether two outputs of a call are one memory",
}

READS_CODE = {"co_code", "co_consts", "__closure__", "get_instructions"}
DIGEST = "opsdk.define.identity"
# By module, why it reads the code of a function by itself.
READS = {
    "opsdk.backends.numba.reading": "machine code differs by lines and overloads too, and one doubt refuses all",
    "opsdk.verify.inputs.thresholds": "the numbers that it names, whatever they are for",
    "opsdk.expr.trace": "the operation that an error came from, and nothing else of the code",
}


def second_perturbations(modules):
    """Finds functions that draw and multiply by one plus a share, and neighbours of numbers, outside of one module."""
    return [
        f"{module.path}:{node.lineno}: perturbs numbers; call {PERTURB}"
        for name, module in modules.items()
        if name.startswith(PERTURBED) and name != PERTURB and name not in PERTURBS
        for node in ast.walk(module.syntax)
        if _called(node) == "nextafter" or (isinstance(node, ast.FunctionDef) and _perturbs(node))
    ]


def _perturbs(function):
    nodes = list(ast.walk(function))
    scales = [side for n in nodes if _is(n, ast.Mult) for side in (n.left, n.right)]
    return any(_called(n) in DRAWS for n in nodes) and any(_is(side, ast.Add) and _is_one(side.left) for side in scales)


def _is(node, operator):
    return isinstance(node, ast.BinOp) and isinstance(node.op, operator)


def _is_one(node):
    return isinstance(node, ast.Constant) and node.value == 1


def second_judges(modules):
    """Finds distances of arrays that are compared with a bound, outside of the modules that judge arrays."""
    return [
        f"{module.path}:{node.lineno}: judges two arrays; call {' or '.join(JUDGES)}"
        for name, module in modules.items()
        if name.startswith(JUDGED) and name not in JUDGES and name not in COMPARES
        for node in ast.walk(module.syntax)
        if _called(node) in ("allclose", "isclose") or (isinstance(node, ast.Compare) and _is_distance(node.left))
    ]


def _is_distance(node):
    while isinstance(node, ast.Subscript):  # a part of a distance is one
        node = node.value
    is_size = _called(node) == "abs" and isinstance(node.func, ast.Attribute)
    return is_size and bool(node.args) and _is(node.args[0], ast.Sub)


def second_memory_tests(modules):
    """Finds questions for shared memory, or for references, outside of the modules that answer them."""
    return [
        f"{module.path}:{node.lineno}: asks {_called(node)}; whether an array is new is known to {', '.join(ASKS)}"
        for name, module in modules.items()
        if not any(name == home or name.startswith(f"{home}.") for home in ASKS)
        for node in ast.walk(module.syntax)
        if _called(node) in SHARES
    ]


def second_digests(modules):
    """Finds questions for what a function is made of, outside of the package that makes digests of functions."""
    return [
        f"{module.path}:{node.lineno}: reads {node.attr}; {DIGEST} knows what a function is made of"
        for name, module in modules.items()
        if not name.startswith(f"{DIGEST}.") and name not in READS
        for node in ast.walk(module.syntax)
        if isinstance(node, ast.Attribute) and node.attr in READS_CODE
    ]


def _called(node):
    if not isinstance(node, ast.Call):
        return None
    return getattr(node.func, "attr", None) or getattr(node.func, "id", None)

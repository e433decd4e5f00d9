"""Dependencies: what pyproject.toml asks for is imported, and an extra that a message names brings its package."""

import ast
import re

from tests.contracts.imports import imports_of
from tests.contracts.tree import REPOSITORY

# The modules of a distribution, where they are not called as it is: its own first, then what comes along with it.
MODULES = {
    "cffi": ("cffi", "_cffi_backend"),
    "cupy-cuda12x": ("cupy",),
    "cupy-cuda13x": ("cupy",),
    "mpi4py": ("mpi4py",),
    "numba": ("numba", "llvmlite"),
    "numba-cuda": ("numba_cuda", "numba", "cuda"),
    "paddlepaddle": ("paddle",),
    "pytest-xdist": ("xdist",),
    "scikit-learn": ("sklearn",),
}
FOR_THIS_CHECKOUT = {"test", "dev"}  # extras whose packages serve the tests, which may be what imports them
# Asked for and imported by nothing in the distribution, each with the reason. One that is imported leaves the list.
NOT_IMPORTED = {
    "mpi4py": "opsdk.distributed is announced",
    "onnx": "the bridge to ONNX Runtime is announced",
    "onnxruntime": "the bridge to ONNX Runtime is announced",
    "matplotlib": "draws the charts of benchmarks/, which are not part of the distribution",
    "pytest-xdist": "a plugin of pytest: make test asks for it with -n",
    "ruff": "a program: make lint runs it",
    "mypy": "a program: make lint runs it",
}
# Packages that a message sends to an extra that does not name them, each with the reason.
SENT_ELSEWHERE = {"ml_dtypes": "part of the plain install, which every extra brings along"}


def requirements(text):
    """Gives {extra: distributions} of a pyproject.toml; those of the plain install stand under ""."""
    import tomllib

    project = tomllib.loads(text)["project"]
    listed = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [_distribution(line) for line in lines if _distribution(line)] for extra, lines in listed.items()}


def imported(modules):
    """Gives the top-level modules that a tree imports, also by name, as in `optional("x", ...)` and `slow("x")`."""
    edges = [edge for module in modules.values() for edge in imports_of(module, modules)]
    calls = (node for module in modules.values() for node in ast.walk(module.syntax) if isinstance(node, ast.Call))
    named = [name for call in calls for name in _named_by(call, ("optional", "slow"))]
    return {name.split(".")[0] for name in [*(edge.base for edge in edges), *named]}


def unused(required, shipped, tests):
    """Finds requirements that nothing imports and no reason excuses.

    Args:
        required: from extras to distributions.
        shipped: what the distribution's packages import.
        tests: what the tests import.
    """
    return [
        f"pyproject.toml, {extra or 'dependencies'}: nothing imports {name}; take it out, or say why it is asked for "
        "in NOT_IMPORTED (tests/contracts/dependencies.py)"
        for extra, names in required.items()
        for name in names
        if not _is_used(name, extra, shipped, tests) and name not in NOT_IMPORTED
    ]


def stale_reasons(required, shipped, tests, reasons=NOT_IMPORTED):
    """Finds reasons for packages that are imported by now, or no longer asked for."""
    asked = {name: extra for extra, names in required.items() for name in names}
    return [
        f"NOT_IMPORTED: {name} is {'imported' if name in asked else 'asked for by nothing'}; take it off the list"
        for name in reasons
        if name not in asked or _is_used(name, asked[name], shipped, tests)
    ]


def wrong_extras(required, modules, reasons=SENT_ELSEWHERE):
    """Finds `optional("x", extra="e")` whose extra does not exist or does not bring x: a remedy that would not help."""
    found = []
    for module in modules.values():
        for call in (node for node in ast.walk(module.syntax) if isinstance(node, ast.Call)):
            for name in (name.split(".")[0] for name in _named_by(call, ("optional",))):
                extra = next((k.value.value for k in call.keywords if k.arg == "extra"), None)
                brought = {given for each in required.get(extra, ()) for given in _modules_of(each)}
                if name not in brought | reasons.keys():
                    found.append(f"{module.path}:{call.lineno}: the extra {extra!r} does not bring {name}")
    return found


def read_requirements(root=REPOSITORY):
    """Gives the requirements of this checkout."""
    return requirements((root / "pyproject.toml").read_text(encoding="utf-8"))


def _distribution(line):
    """The name in a requirement; none for an extra of opsdk's own, whose packages stand under that extra."""
    name = re.match(r"[\w.-]+", line)[0]
    return "" if name == "opsdk" else name


def _modules_of(distribution):
    return MODULES.get(distribution, (distribution.replace("-", "_"),))


def _is_used(distribution, extra, shipped, tests):
    return _modules_of(distribution)[0] in (shipped | tests if extra in FOR_THIS_CHECKOUT else shipped)


def _named_by(call, functions):
    """The module that a call of one of these functions names as a literal."""
    function = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if function in functions and call.args and isinstance(call.args[0], ast.Constant):
        yield call.args[0].value

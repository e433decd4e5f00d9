"""Floors: who may import whom, when, and in no circle."""

import ast
import sys

from tests.contracts.imports import imports_of

FLOORS = {
    "core": 0,
    "define": 1,
    "expr": 1,
    "backends": 2,
    "ops": 2,
    "autograd": 3,
    "cuda": 3,
    "static": 3,
    "nn": 4,
    "optim": 4,
    "optimizer": 4,
    "metric": 4,
    "amp": 4,
    "io": 4,
    "saving": 4,
    "callbacks": 5,
    "model": 5,
    "jit": 5,
    "fluid": 5,
    "inference": 5,
    "vision": 5,
    "distributed": 5,
}
# The same inside gradcheck: folders, and the modules beside them by name.
GRADCHECK_FLOORS = {
    "errors": 0,
    "picture": 0,
    "report": 0,
    "model": 1,
    "domain": 1,
    "numeric": 2,
    "judge": 3,
    "explain": 4,
    "show": 5,
    "checks": 6,
    "checking": 7,
    "shrinking": 8,
    "taylor": 8,
    "door": 8,
    "case": 8,
    "subjects": 9,
    "run": 9,
    "pytest_plugin": 9,
    "__main__": 10,
}
LEAVES = {"bridges", "verify", "ship", "__main__"}

# Narrower than the floor says: built-in ops see what a user's op sees, and a backend runs kernels without knowing ops.
SEES_ONLY = {"ops": {"core", "define", "expr", "ops"}, "backends": {"core", "define", "expr", "backends"}}
STRANGERS = {("autograd", "static"), ("static", "autograd")}

FACADE = "opsdk"
MAY_USE_FACADE = ("opsdk.ship", "opsdk.__main__")
MAY_DEFER = ("opsdk.core.lazy", "opsdk.bridges", "opsdk.ship", "gradcheck.subjects")
FRAMEWORKS = {"torch", "jax", "paddle"}
PYTEST_PLUGIN = "gradcheck.pytest_plugin"


def floor_violations(modules):
    """Finds imports inside opsdk that go up, across the two runtimes, into a leaf, or to the facade."""
    return [
        f"{edge.where}: {problem}"
        for module in modules.values()
        if module.parts[0] == "opsdk" and module.name != FACADE
        for edge in imports_of(module, modules)
        if (problem := _floor_problem(module, edge))
    ]


def _floor_problem(module, edge):
    source = module.parts[1]
    if source not in FLOORS and source not in LEAVES:
        return f"opsdk.{source} stands on no floor; move it into a package that does"
    root = edge.base.split(".")[0]
    if root in ("contrib_ops", "tests", "benchmarks", "examples"):
        return f"opsdk imports {root}; it must not know it"
    if root != "opsdk":
        return None
    if edge.target == FACADE or edge.base == FACADE or edge.binds_root:
        allowed = _within(module.name, MAY_USE_FACADE)
        return None if allowed else "imports the facade opsdk; import from the module itself"
    return _step_problem(source, edge.target.split(".")[1], edge)


def _step_problem(source, target, edge):
    if source in LEAVES or source == target:
        return None
    if target in LEAVES:
        return f"{source} imports the leaf {edge.target}; leaves are imported by nobody below"
    if target not in FLOORS:
        return f"imports {edge.target}, which stands on no floor"
    if (source, target) in STRANGERS:
        return f"{source} imports {edge.target}; the two runtimes do not know each other"
    if FLOORS[target] > FLOORS[source]:
        return f"{source} (floor {FLOORS[source]}) imports {edge.target} (floor {FLOORS[target]}); imports go down"
    if target not in SEES_ONLY.get(source, {target}):
        return f"{source} imports {edge.target}; it may see {', '.join(sorted(SEES_ONLY[source]))} only"
    return None


def gradcheck_floor_violations(modules):
    """Finds imports inside gradcheck that go up."""
    found = []
    for module in modules.values():
        if module.parts[0] != "gradcheck" or len(module.parts) < 2:
            continue
        source = module.parts[1]
        if source not in GRADCHECK_FLOORS:
            found.append(f"{module.name} stands on no floor; move it into a folder that does")
            continue
        for edge in imports_of(module, modules):
            target = edge.target.split(".")[1] if edge.target.startswith("gradcheck.") else None
            if target in GRADCHECK_FLOORS and GRADCHECK_FLOORS[target] > GRADCHECK_FLOORS[source]:
                found.append(f"{edge.where}: {source} imports {edge.target}; imports go down")
    return found


def gradcheck_violations(modules):
    """Finds imports of gradcheck beyond NumPy, the standard library and itself.

    A subject may use its framework, and the plugin pytest.
    """
    violations = []
    for module in modules.values():
        if module.parts[0] != "gradcheck":
            continue
        allowed = {"gradcheck", "numpy", *sys.stdlib_module_names}
        if _within(module.name, ("gradcheck.subjects",)):
            allowed |= FRAMEWORKS
        if module.name == PYTEST_PLUGIN:
            allowed |= {"pytest"}
        violations += [
            f"{edge.where}: gradcheck imports {edge.base}; it knows NumPy and the standard library only"
            for edge in imports_of(module, modules)
            if edge.base.split(".")[0] not in allowed
        ]
    return violations


def contrib_violations(modules, public):
    """Finds uses of opsdk in contrib_ops outside `public`, the names of opsdk's __all__."""
    violations = []
    for module in modules.values():
        if module.parts[0] == "contrib_ops":
            used = [*_imported_names(module, modules), *_attribute_names(module)]
            violations += [
                f"{where}: uses opsdk.{name}, which is not public; contrib_ops is written as a user would"
                for name, where in used
                if name.split(".")[0] not in public or any(part.startswith("_") for part in name.split("."))
            ]
    return violations


def _imported_names(module, modules):
    for edge in imports_of(module, modules):
        if edge.base.split(".")[0] == "opsdk":
            name = ".".join([*edge.base.split(".")[1:], *([edge.name] if edge.name else [])])
            if name:
                yield name, edge.where


def _attribute_names(module):
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "opsdk":
            yield node.attr, f"{module.path}:{node.lineno}"


def deferral_violations(modules):
    """Finds imports inside functions outside the few places that are meant for them."""
    return [
        f"{edge.where}: imports {edge.base} inside a function; move it to the top, or use core/lazy.py"
        for module in modules.values()
        if module.parts[0] in ("opsdk", "gradcheck") and module.name != FACADE and not _within(module.name, MAY_DEFER)
        for edge in imports_of(module, modules)
        if edge.when == "deferred"
    ]


def cycles(modules):
    """Gives the import cycles, each as a sorted list of modules, over what runs when a module is imported.

    Importing a.b.c also runs a/__init__.py and a/b/__init__.py; those count unless they already contain the importer.
    """
    graph = {name: _runs_on_import(module, modules) for name, module in modules.items()}
    return [sorted(component) for component in _components(graph) if len(component) > 1]


def _runs_on_import(module, modules):
    started = set(_ancestors(module.name))
    targets = set()
    for edge in imports_of(module, modules):
        if edge.when == "module":
            targets |= {edge.target, *_ancestors(edge.target)} - started
    return {target for target in targets if target in modules and target != module.name}


def _ancestors(name):
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _components(graph):
    """Tarjan's strongly connected components."""
    index, low, stack, components = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            start = stack.index(node)
            components.append(stack[start:])
            del stack[start:]

    for node in graph:
        if node not in index:
            visit(node)
    return components


def _within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)

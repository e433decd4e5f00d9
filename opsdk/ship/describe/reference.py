"""Reference pages: one in Markdown for each op, made from its definition, with a plot where it is a function of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcheck.run.whole import write_whole
from opsdk.backends.call.buffers import infer
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.core.origin import Origin, shorten
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import KernelTable
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.terminal import narrate
from opsdk.ship.describe.docstring import as_markdown
from opsdk.ship.describe.function_plot import function_plot
from opsdk.ship.describe.op_facts import OpFacts, facts_of
from opsdk.ship.targets.target import resolve
from opsdk.verify.inputs.calls import Call
from opsdk.verify.inputs.sampling import UnusableSamplesError, calls_of

MADE = "<!-- Made by opsdk doc; changes are lost. -->"  # the first line of every page, by which it is known again
INDEX = "index.md"


@dataclass(frozen=True)
class Page:
    """A file to write: its path below the folder of the pages, and its text."""

    path: str
    text: str


def write_pages(targets: Sequence[str], out: Path) -> Exit:
    """Writes a page for every op of some targets, and an index; prints the path of each.

    Args:
        targets: as typed.
        out: the folder; made where it is not there.

    Raises:
        TargetError: a target names nothing, or a file is in the way that was not made here.
        BrokenDefinitionError: a file or module cannot be loaded.
    """
    ops = list({op.opdef.name: op for target in targets for op in resolve(target).ops}.values())
    if not ops:
        narrate(f"nothing to describe: {', '.join(targets)} defines no op")
        return Exit.NOTHING
    pages = [page for op in ops for page in pages_of(op)]
    pages.append(Page(INDEX, index([facts_of(op) for op in ops])))
    for page in pages:
        _refuse_foreign(out / page.path)
    try:
        for page in pages:
            path = out / page.path
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, page.text)
    except OSError as error:
        raise TargetError(f"--out: expected a folder that can be written, got {error.strerror} at {out}") from error
    for page in pages:
        print(shorten(str(out / page.path)))
    narrate(f"{len(ops)} op{'' if len(ops) == 1 else 's'} described in {shorten(str(out))}")
    return Exit.PASS


def pages_of(op: Op) -> list[Page]:
    """Returns the page of an op, and its plot where it has one."""
    path = path_of(op.opdef.name)
    plot = function_plot(op)
    drawn = [Page(f"{path}.svg", plot)] if plot else []
    return [Page(f"{path}.md", page(op, facts_of(op), f"{path.rpartition('/')[2]}.svg" if plot else "")), *drawn]


def path_of(name: str) -> str:
    """Returns the path of an op's page without its ending: a folder for each namespace."""
    namespace, _, bare = name.rpartition("::")
    return f"{namespace}/{bare}"


def page(op: Op, facts: OpFacts, plot: str = "") -> str:
    """Returns the page of one op.

    Args:
        op: the op.
        facts: what there is to say about it.
        plot: the file of its plot, beside the page; nothing where there is none.
    """
    opdef = op.opdef
    blocks = [MADE, f"# {facts.name}", _code(facts.schema), as_markdown(facts.doc)]
    blocks += ["## Formula", _code("\n".join(facts.formula))] if facts.formula else []
    blocks += [f"![{opdef.schema.name} and its derivative]({plot})"] if plot else []
    blocks += ["## Gradient", _gradient(facts)]
    blocks += [_code("\n".join(facts.derivative))] if facts.derivative else []
    blocks += ["## Shapes and dtypes", _shapes(facts), _samples(opdef)]
    blocks += ["## Kernels", _kernels(opdef)]
    blocks.append(f"Defined at `{place(opdef.origin)}`.")
    return "\n\n".join(block for block in blocks if block) + "\n"


def index(ops: Sequence[OpFacts]) -> str:
    """Returns the index: a line for every op."""
    lines = ["| op | | derivatives | rows |", "|---|---|---|---|"]
    for facts in sorted(ops, key=lambda facts: facts.name):
        rows = ", ".join(dict.fromkeys(row.row for row in facts.rows))
        link = f"[{facts.name}]({path_of(facts.name)}.md)"
        lines.append(f"| {link} | {_cell(facts.summary)} | {facts.order} | {rows} |")
    return "\n\n".join([MADE, "# Ops", "\n".join(lines)]) + "\n"


def place(origin: Origin) -> str:
    """Returns file and line as a reader of the package finds them, wherever it is installed."""
    parts = origin.module.split(".")
    if len(parts) == 1:
        return f"{Path(origin.file).name}:{origin.line}"
    return f"{'/'.join(Path(origin.file).parts[-len(parts) :])}:{origin.line}"


def _gradient(facts: OpFacts) -> str:
    order = {"none": "It has no gradient.", "∞": "It can be differentiated any number of times."}
    said = order.get(facts.order, f"It can be differentiated {facts.order} time{'' if facts.order == '1' else 's'}.")
    if facts.order == "none":
        return said
    return f"{said} Backward: {facts.backward}. Saved for it: {facts.saves}."


def _shapes(facts: OpFacts) -> str:
    declared = f"Declared: {facts.declared}." if facts.declared else ""
    return f"{_sentence(facts.infer)} {declared}".strip()


def _samples(opdef: OpDef) -> str:
    try:
        calls = calls_of(opdef, None, 0)
    except UnusableSamplesError:
        return ""
    lines = ["| inputs | outputs | why it is tried |", "|---|---|---|"]
    found = [(_inputs(call), _outputs(opdef, call), call.reason) for call in calls if not call.extra]
    lines += [f"| {_cell(given)} | {_cell(made)} | {_cell(reason)} |" for given, made, reason in found if made]
    return "\n".join(lines) if len(lines) > 2 else ""


def _inputs(call: Call) -> str:
    values = [_spec(value) for value in call.inputs]
    return ", ".join([*values, *(f"{name}={value!r}" for name, value in call.attrs.items())])


def _outputs(opdef: OpDef, call: Call) -> str:
    """Returns the specs of a call's outputs; nothing where the op does not take the call."""
    try:
        specs = infer(opdef, call.inputs, complete_attrs(opdef, call.attrs))
    except (OpsdkError, TypeError, ValueError):
        return ""
    return ", ".join("known when it ran" if spec is None else _spec(spec) for spec in specs)


def _spec(value: Any) -> str:  # any: an array, a spec, a list of them, or None
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"[{', '.join(map(_spec, value))}]"
    spec = value if isinstance(value, TensorSpec) else TensorSpec.of(value)
    sizes = ", ".join("any" if size is None else str(size) for size in spec.shape)
    return f"{spec.dtype.name} ({sizes})"


def _kernels(opdef: OpDef) -> str:
    lines = ["| of | language, place, dtype | at |", "|---|---|---|"]
    tables: list[tuple[str, KernelTable]] = [("forward", opdef.kernels)]
    if opdef.grad is not None:
        tables.append(("backward", opdef.grad.op.opdef.kernels))
    lines += [f"| {of} | {row} | `{place(row.origin)}` |" for of, table in tables for row in table]
    return "\n".join(lines)


def _refuse_foreign(path: Path) -> None:
    """Keeps files that somebody wrote.

    Raises:
        TargetError: there is one at the path.
    """
    if path.exists() and path.suffix == ".md" and not path.read_text(encoding="utf-8").startswith(MADE):
        raise TargetError(f"--out: expected no file but pages made here, got {path}; move it, or name another folder")


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

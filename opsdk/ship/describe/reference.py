"""Reference pages: one in Markdown for each op, made from its definition, with a plot where it is a function of x."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gradcheck.run.whole import write_whole
from opsdk.backends.call.buffers import infer
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.core.origin import Origin, shorten
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.identity.callables import value_text
from opsdk.define.kernel.kernel import KernelTable
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.terminal import narrate
from opsdk.ship.describe.function_plot import function_plot
from opsdk.ship.describe.op_facts import OpFacts, facts_of
from opsdk.ship.targets.target import resolve
from opsdk.verify.inputs.calls import Call
from opsdk.verify.inputs.sampling import UnusableSamplesError, calls_of

MADE = "<!-- Made by opsdk doc; changes are lost. -->"  # the first line of every page, by which it is known again
INDEX = "index.md"
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Example|Examples|Note|Attributes):$")
_ENTRY = re.compile(r"^(?P<name>[*\w, ]+):\s+(?P<text>.*)$")


def write_pages(targets: Sequence[str], out: Path) -> Exit:
    """Writes a page for every op of some targets, and an index; prints the path of each.

    Args:
        targets: as typed.
        out: the folder; made where it is not there.

    Raises:
        TargetError: a target names nothing, or a file is in the way that was not made here.
        BrokenDefinitionError: a file or module cannot be loaded.
    """
    ops = list({op.opdef.name: op for target in targets for op in resolve(target).shown}.values())
    if not ops:
        narrate(f"nothing to describe: {', '.join(targets)} defines no op")
        return Exit.NOTHING
    pages = {}
    facts = [facts_of(op) for op in ops]
    for op, described in zip(ops, facts, strict=True):
        path = out / path_of(op.opdef.name)
        plot = function_plot(op)
        pages[path.with_name(f"{path.name}.md")] = page(op, described, f"{path.name}.svg" if plot else "")
        if plot:
            pages[path.with_name(f"{path.name}.svg")] = plot
    pages[out / INDEX] = index(facts)
    for path in pages:  # what somebody wrote is kept
        if path.exists() and path.suffix == ".md" and not path.read_text(encoding="utf-8").startswith(MADE):
            raise TargetError(
                f"--out: expected no file but pages made here, got {path}; move it, or name another folder"
            )
    try:
        for path, text in pages.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
    except OSError as error:
        raise TargetError(f"--out: expected a folder that can be written, got {error.strerror} at {out}") from error
    for path in pages:
        print(shorten(str(path)))
    narrate(f"{len(ops)} op{'' if len(ops) == 1 else 's'} described in {shorten(str(out))}")
    return Exit.PASS


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
    times = {"∞": "any number of times", "1": "1 time"}.get(facts.order, f"{facts.order} times")
    gradient = f"It can be differentiated {times}. Backward: {facts.backward}. Saved for it: {facts.saves}."
    rule = facts.infer[:1].upper() + facts.infer[1:].rstrip(".")
    said = [f"{rule}." if rule else "", f"Declared: {facts.declared}." if facts.declared else ""]
    tables: list[tuple[str, KernelTable]] = [("forward", opdef.kernels)]
    if opdef.grad is not None:
        tables.append(("backward", opdef.grad.op.opdef.kernels))
    kernels = [f"| {of} | {row} | `{place(row.origin)}` |" for of, table in tables for row in table]
    blocks = [MADE, f"# {facts.name}", _code(facts.schema), as_markdown(facts.doc)]
    blocks += ["## Formula", _code("\n".join(facts.formula))] if facts.formula else []
    blocks += [f"![{opdef.schema.name} and its derivative]({plot})"] if plot else []
    blocks += ["## Gradient", "It has no gradient." if facts.order == "none" else gradient]
    blocks += [_code("\n".join(facts.derivative))] if facts.derivative else []
    blocks += ["## Shapes and dtypes", " ".join(filter(None, said)), _samples(opdef)]
    blocks += ["## Kernels", "\n".join(["| of | language, place, dtype | at |", "|---|---|---|", *kernels])]
    blocks.append(f"Defined at `{place(opdef.origin)}`.")
    return "\n\n".join(block for block in blocks if block) + "\n"


def index(ops: Sequence[OpFacts]) -> str:
    """Returns the index: a line for every op."""
    lines = ["| op | | derivatives | kernels |", "|---|---|---|---|"]
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


def _samples(opdef: OpDef) -> str:
    """Returns the table of the calls that are tried; nothing where the op takes none."""
    try:
        calls = calls_of(opdef, None, 0)
    except UnusableSamplesError:
        return ""
    lines = []
    for call in (call for call in calls if not call.extra):
        attrs = [f"{name}={value_text(value)}" for name, value in call.attrs.items()]
        given = ", ".join([*map(_spec, call.inputs), *attrs])
        made = _outputs(opdef, call)
        lines += [f"| {_cell(given)} | {_cell(made)} | {_cell(call.reason)} |"] if made else []
    return "\n".join(["| inputs | outputs | why it is tried |", "|---|---|---|", *lines]) if lines else ""


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


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def as_markdown(doc: str) -> str:
    """Returns a docstring as Markdown.

    Args:
        doc: without the indentation that its lines share.
    """
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", doc.strip()):
        lines = block.splitlines()
        heading = _SECTION.match(lines[0]) if lines else None
        if heading:
            blocks.append(f"**{heading[1]}**")
            lines = lines[1:]
        if lines and all(line.startswith("    ") or not line.strip() for line in lines):
            is_example = any(line.lstrip().startswith(">>>") for line in lines)
            code = ["```python", *(line[4:] for line in lines), "```"]
            blocks.append("\n".join(code if is_example else _entries(lines)))
        elif lines:
            blocks.append("\n".join(line.strip() for line in lines))
    return "\n\n".join(block for block in blocks if block)


def _entries(lines: list[str]) -> Iterator[str]:
    """Yields list items; a line that is indented further goes on with the item before."""
    items: list[str] = []
    for line in lines:
        text = line.strip()
        if items and line.startswith("      "):
            items[-1] += f" {text}"
        else:
            items.append(text)
    for item in items:
        entry = _ENTRY.match(item)
        yield f"- `{entry['name']}`: {entry['text']}" if entry else f"- {item}"

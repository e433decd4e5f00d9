"""A Program of a text that `written` gave: every line is held to its op's schema and rule of shapes before it is made.

Nothing of the text is run. It may come from anywhere.
"""

from __future__ import annotations

import json
from typing import Any

from opsdk.core.errors import OpsdkError, SavedFileError, UnknownOpError
from opsdk.core.nested import flat
from opsdk.core.origin import Origin
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.op import find_op
from opsdk.define.opdef import OpDef
from opsdk.static.build.frontend import guard_of
from opsdk.static.build.recording import infer, may_agree
from opsdk.static.control.body import Body
from opsdk.static.files import values
from opsdk.static.files.values import NotWrittenError
from opsdk.static.files.written import FLAGS, KEY, VERSION, asked
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import BACKWARD, FORWARD, OPTIMIZE, Operator
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Parameter, Variable

# Any, in this file: what JSON has.
_DEEPEST = 50  # bodies in one another


class Document:
    """A text that was read: its Programs, by name, not made yet.

    Args:
        text: as `text_of` gives it.
        subject: whose it is, for messages.

    Raises:
        SavedFileError: it is none, or of a newer version.
    """

    def __init__(self, text: str, subject: str) -> None:
        self.subject = subject
        try:
            read = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SavedFileError(f"{subject}: expected a Program in JSON, {error}; damaged?") from None
        version = read.get(KEY) if isinstance(read, dict) else None
        if type(version) is not int or version < 1:
            raise SavedFileError(
                f"{subject}: expected a Program that opsdk wrote, which begins with {KEY!r}, got {text[:40]!r}"
            )
        if version > VERSION:
            raise SavedFileError(
                f"{subject}: expected version {VERSION} of {KEY}, got {version}; a newer opsdk wrote it: update opsdk"
            )
        self.programs = self._table(read, "programs")
        self._packages = {str(name): str(said) for name, said in self._table(read, "packages").items()}

    def _table(self, read: dict[str, Any], name: str) -> dict[str, Any]:
        found = read.get(name)
        if not isinstance(found, dict):
            raise SavedFileError(f"{self.subject}: {name} expected a table, got {type(found).__name__}; damaged?")
        return found

    def program(self, name: str) -> Program:
        """Makes a Program.

        Raises:
            SavedFileError: a line of it is no variable or operator, or does not fit the op that it names.
            UnknownOpError: nobody here provides an op.
        """
        where = f"{self.subject}, {name!r}"
        try:
            return made_of(self.programs[name])
        except NotWrittenError as error:
            raise SavedFileError(f"{where}: {error}; damaged, or edited?") from None
        except UnknownOpError as error:
            raise self._unknown(error, where) from None
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
            raise SavedFileError(
                f"{where}: expected variables and operators, {type(error).__name__}: {str(error)[:80]}"
            ) from error

    def _unknown(self, error: UnknownOpError, where: str) -> UnknownOpError:
        """Returns the error with what the file claims of the op's package, which is nobody's word but the file's."""
        namespace = str(error).partition("op '")[2].partition("::")[0]
        said = self._packages.get(namespace)
        claim = "" if said is None else f"; the file says that {said[:80]!r} provides it"
        return UnknownOpError(f"{where}: {error}{claim}")


def made_of(written: Any, depth: int = 0) -> Program:
    """Returns the Program that was described.

    Raises:
        NotWrittenError: it is none.
    """
    if depth > _DEEPEST:
        raise NotWrittenError(f"at most {_DEEPEST} bodies were expected in one another")
    program = Program()
    program.random_seed = written.get("random_seed", 0)
    _fill(program.global_block(), written, depth)
    return program


def _body(written: Any, depth: int) -> Body:
    program = made_of(written, depth + 1)
    block = program.global_block()
    names = [*written["inputs"], *written["outputs"]]
    if not all(isinstance(name, str) and name in block.vars for name in names):
        raise NotWrittenError("a body expected names of its own variables for inputs and outputs")
    fed = [name for name, variable in block.vars.items() if variable.is_data or variable.persistable]
    if sorted(fed) != sorted(written["inputs"]) or set(written["inputs"]) & set(written["outputs"]):
        raise NotWrittenError("a body expected to read its inputs alone, and to give none of them")
    return Body(program, written["inputs"], written["outputs"])


def _whole(value: Any, below: int) -> int:
    if type(value) is not int or not 0 <= value < below:
        raise NotWrittenError(f"a number expected 0 to {below - 1}, got {str(value)[:20]}")
    return value


def _fill(block: Block, written: Any, depth: int) -> None:
    for line in written["variables"]:
        block.add(_read_variable(block, line))
    calls = [_read_operator(block, line, [], depth) for line in written.get("calls", [])]
    there = {name for name, v in block.vars.items() if v.is_data or v.persistable or v.value is not None}
    kept: set[str] = set()
    for line in written["operators"]:
        operator = _read_operator(block, line, calls, depth)
        missing = [name for name in operator.needed_arg_names if name not in there]
        missing += [key for key in operator.reads.values() if key not in kept]
        if missing:
            raise NotWrittenError(f"operator {operator.type!r} reads {missing[0]!r}, which nothing before it gives")
        there.update(operator.output_arg_names)
        kept.update(operator.gives.values())
        block.ops.append(operator)
    block.program.touch()


def _read_variable(block: Block, line: Any) -> Variable:
    name = line["name"]
    if not isinstance(name, str) or not name or name in block.vars:
        raise NotWrittenError(f"a variable expected a name of its own, got {str(name)[:60]!r}")
    spec = values.read_spec(line)
    stop, cut = (_flag(line, flag) for flag in ("stop_gradient", "cut"))
    if "parameter" in line:
        rate, decay, clip = line["parameter"]
        if None in spec.shape or not isinstance(rate, (int, float)) or not isinstance(clip, bool):
            raise NotWrittenError(f"parameter {name!r} expected known sizes, a rate and whether it is clipped")
        if decay is not None and not isinstance(decay, (int, float)):
            raise NotWrittenError(f"parameter {name!r} expected a regularizer that is a number, got {str(decay)[:20]}")
        made: Variable = Parameter(
            block, name, spec.shape, spec.dtype, trainable=not stop, learning_rate=rate, need_clip=clip
        )
        made.regularizer = decay  # type: ignore[attr-defined]  # of a Parameter
    else:
        constant = values.read_array(line["constant"]) if "constant" in line else None
        if constant is not None and (constant.shape != spec.shape or constant.dtype != spec.dtype):
            raise NotWrittenError(
                f"constant {name!r} expected {spec}, got {TensorSpec(constant.shape, constant.dtype)}"
            )
        kinds = {"persistable": _flag(line, "persistable"), "is_data": _flag(line, "data")}
        made = Variable(block, name, spec.shape, spec.dtype, stop_gradient=stop, value=constant, **kinds)
    made.is_cut = cut
    return made


def _flag(line: Any, name: str) -> bool:
    value = line.get(name, False)
    if not isinstance(value, bool):
        raise NotWrittenError(f"{name} expected true or false, got {str(value)[:20]}")
    return value


def _read_operator(block: Block, line: Any, calls: list[Operator], depth: int) -> Operator:
    opdef = find_op(_text(line["op"])).opdef
    if _flag(line, "check"):
        if not opdef.is_composite:
            raise NotWrittenError(f"{opdef.subject}: expected one that is made of others, to be checked before them")
        opdef = guard_of(opdef)
    schema, where = opdef.schema, f"operator {opdef.name!r}"
    decls = {decl.name: decl for decl in schema.attrs}
    asks = {name for name, _ in getattr(opdef.infer, "asks", ())}
    given = line.get("attrs", {})
    for name in given:
        if name not in decls and name not in asks:
            raise NotWrittenError(f"{where}: no attribute is called {str(name)[:40]!r}; was it of another version?")
    attrs = {
        name: _body(value, depth)
        if isinstance(value, dict) and name in schema.callables
        else values.read_attribute(value, decls.get(name) or asked(name))
        for name, value in given.items()
    }
    inputs, outputs = (_read_slots(block, line[role], names, where) for role, names in _roles(opdef))
    for decl, names in zip(schema.inputs, inputs.values(), strict=True):
        may_lack = decl.kind == "optional" or decl.name in line.get("residuals", ())  # which a run keeps under a name
        fits = decl.kind == "list" or len(names) == 1 or (may_lack and not names)
        if not fits or ("" in names and not decl.holes):
            raise NotWrittenError(f"{where}: input {decl.name!r} expected {decl}, got {len(names)} variables")
    role = line.get("role", FORWARD)
    if role not in (FORWARD, BACKWARD, OPTIMIZE):
        raise NotWrittenError(f"{where}: role expected forward, backward or optimize, got {str(role)[:20]}")
    file, _, number = _text(line.get("at", "a file:0")).rpartition(":")
    origin = Origin(file, int(number) if number.isdecimal() and len(number) < 10 else 0)
    try:
        # What a run gives: specs of values as they are then, and residuals that are objects.
        late = dict.fromkeys([*line.get("specs", ()), *(n for n in line.get("residuals", ()) if n in decls)])
        complete = complete_attrs(opdef, {**late, **attrs})
        attrs = {name: value for name, value in complete.items() if name not in late or name in attrs}
        made = Operator(opdef, inputs, outputs, attrs, role, origin)
        _read_rest(made, block, line, calls)
        if made.forward is None:
            _check_shapes(made, block)
    except UnknownOpError:
        raise
    except OpsdkError as error:
        raise NotWrittenError(f"{where}: {error}") from error
    return made


def _roles(opdef: OpDef) -> list[tuple[str, tuple[str, ...]]]:
    return [("in", opdef.schema.input_names), ("out", opdef.schema.output_names)]


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 10_000:
        raise NotWrittenError(f"a text was expected, got {str(value)[:40]!r}")
    return value


def _read_slots(block: Block, given: Any, slots: tuple[str, ...], where: str) -> dict[str, list[str]]:
    """Returns by slot the names of variables, which have to be there."""
    for slot in given:
        if slot not in slots:
            raise NotWrittenError(f"{where}: no slot is called {str(slot)[:40]!r}; was it of another version?")
    return {slot: _names(given.get(slot, []), block, where) for slot in slots}


def _names(given: Any, block: Block, where: str) -> list[str]:
    if not isinstance(given, list):
        raise NotWrittenError(f"{where}: expected a list of names, got {str(given)[:40]}")
    for name in given:
        if not isinstance(name, str) or (name and name not in block.vars):
            raise NotWrittenError(f"{where}: expected names of variables, got {str(name)[:60]!r}")
    return given


def _read_rest(made: Operator, block: Block, line: Any, calls: list[Operator]) -> None:
    """Gives an operator what stands beside its slots and attributes."""
    where = f"operator {made.opdef.name!r}"
    for flag, usual in FLAGS.items():
        setattr(made, flag, _flag(line, flag) if flag in line else usual)
    made.of = {_text(slot): _names(names, block, where) for slot, names in line.get("of", {}).items()}
    made.residuals = {_text(name): _text(key) for name, key in line.get("residuals", {}).items()}
    made.guards, made.freed = (_names(line.get(name, []), block, where) for name in ("guards", "freed"))
    for name, (kind, names) in line.get("specs", {}).items():
        if kind not in ("tensor", "list", "optional"):
            raise NotWrittenError(f"{where}: spec {str(name)[:40]!r} expected a kind of input, got {str(kind)[:20]}")
        made.specs[_text(name)] = (kind, _names(names, block, where))
    if "gradient_of" in line:
        made.forward = find_op(_text(line["gradient_of"])).opdef
        rule = made.rule
        if rule is None or rule.op.opdef is not made.opdef:
            raise NotWrittenError(f"{where}: expected the gradient of {made.forward.name!r}, which has another one")
        for slot, names in made.of.items():
            if slot not in made.outputs or len(names) != len(made.outputs[slot]):
                raise NotWrittenError(f"{where}: expected gradients of as many variables as it gives")
    if "part_of" in line:
        made.part_of = calls[_whole(line["part_of"], len(calls))]


def _check_shapes(made: Operator, block: Block) -> None:
    """Holds the variables that an operator gives to the op's own rule of shapes."""
    if made.residuals and made.opdef.gradient_of is not None:
        return
    inputs = made.by_input(block.vars.get)
    asked = {
        name: [block.vars[one].spec for one in names] if kind == "list" else block.vars[names[0]].spec
        for name, (kind, names) in made.specs.items()
        if names
    }
    inferred = infer(made.opdef, inputs, {**made.attrs, **asked})
    for decl, names, wanted in zip(made.opdef.schema.outputs, made.outputs.values(), inferred, strict=True):
        if decl.mutated:
            continue
        specs: list[TensorSpec | None] = list(flat(wanted)) if isinstance(wanted, list) else [wanted] * len(names)
        for name, spec in zip(names, specs, strict=False):
            held = block.vars[name].spec if name else None
            if held is not None and (spec is None or spec.dtype != held.dtype or not may_agree(spec.shape, held.shape)):
                raise NotWrittenError(f"operator {made.opdef.name!r} gives {spec}, variable {name!r} is {held}")

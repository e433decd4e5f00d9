"""Parser of the schema language: `ns::name@2(Tensor x, Tensor? w=None, *, float eps=1e-5) -> (Tensor y, Tensor n)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from opsdk.core.dtype import KINDS
from opsdk.core.errors import OpsdkError, SchemaError
from opsdk.define.schema.attr_type import AttrType, read_value
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.grammar import TERMINALS, pattern
from opsdk.define.schema.scalars import OBJECT
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl, ResidualDecl, TensorDecl

_HEAD = re.compile(r"\s*(?:(?P<ns>[^\W\d]\w*)::)?(?P<name>[^\W\d]\w*)(?:@(?P<version>\d+))?\s*")
_RESULT = re.compile(r"(Tensor(?:<[^<>]*>)?\S*)\s*(.*)", re.DOTALL)
_LISTED = re.compile(r"(?P<list>Tensor[^\[\]]*)\[(?P<length>[\d\s]*)\]\s*\??\s*")
_RESIDUALS = re.compile(r"(.*?)\s*,\s*residuals\s*(\(.*\))\s*", re.DOTALL)
_QUOTED = re.compile(TERMINALS["string"][0], re.DOTALL)


def parse_schema(text: str, namespace: str) -> OpSchema:
    """Returns the schema that `text` writes; a name without a namespace gets the given one.

    Raises:
        SchemaError: the text is not of the schema language; the message quotes the part that is not.
    """
    head = _HEAD.match(text)
    if head is None or not text[head.end() :].startswith("("):
        raise SchemaError(f"schema {text!r}: expected 'name(' with an optional 'namespace::' in front")
    close = _closing(text, head.end())
    parameters, arrow, results = text[head.end() + 1 : close], text[close + 1 :].strip()[:2], text[close + 1 :]
    if arrow != "->":
        raise SchemaError(f"schema {text!r}: expected '-> results' after the parameters, got {results.strip()!r}")
    kept = _RESIDUALS.fullmatch(results)
    results, residuals = (kept[1], split(kept[2][1:-1])) if kept else (results, [])
    inputs: list[InputDecl] = []
    attrs: list[AttrDecl] = []
    positional: list[str] = []
    keyword_only = False
    for part in split(parameters):
        if part == "*":
            keyword_only = True
            continue
        decl = _parameter(part, text)
        if isinstance(decl, AttrDecl):
            attrs.append(decl)
        elif keyword_only:
            raise SchemaError(f"schema {text!r}: tensor {decl.name!r} expected before '*', only attributes go after it")
        else:
            inputs.append(decl)
        if not keyword_only:
            positional.append(decl.name)
    schema = OpSchema(
        namespace=head["ns"] or namespace,
        name=head["name"],
        inputs=tuple(inputs),
        attrs=tuple(attrs),
        outputs=_results(results.strip()[2:].strip(), text),
        version=int(head["version"] or 1),
        positional=tuple(positional),
        residuals=residuals_of(residuals, f"schema {text!r}"),
    )
    check_schema(schema)
    return schema


# Any: what an author passed as `residuals=`.
def residuals_of(given: Any, subject: str) -> tuple[ResidualDecl, ...]:
    """Returns residuals as they are declared: `Tensor lse`, `Tensor<int> index`, `object lu`; a bare name is a Tensor.

    Raises:
        SchemaError: they are no list of such texts.
    """
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, (list, tuple)):
        raise SchemaError(f"{subject}: residuals expected a list of texts, got {given!r}; write ['object lu']")
    decls = []
    for text in texts:
        kind, _, name = text.strip().rpartition(" ") if isinstance(text, str) else ("", "", "")
        kind = kind.strip() or "Tensor"
        tensor = _matched(kind, subject)
        is_plain = tensor is not None and not (tensor["list"] or tensor["optional"] or tensor["letter"])
        is_one = kind == OBJECT or is_plain
        if not name.isidentifier() or not is_one:
            raise SchemaError(
                f"{subject}: residual expected 'Tensor name', 'Tensor<int> name' or 'object name', got {text!r}; a "
                "list of arrays is an object"
            )
        elements = _tensor(tensor, subject)[3] if tensor else ()
        decls.append(ResidualDecl(name, "tensor" if tensor else OBJECT, elements=elements))
    return tuple(decls)


def check_schema(schema: OpSchema) -> None:
    """Checks what the grammar cannot say: names that occur once, aliases that have a source.

    Raises:
        SchemaError: a name occurs twice, an output aliases nothing, or a list of which any tensor may share its memory;
            or a mutated output has no mutated input, or one of another kind.
    """
    names = [*schema.input_names, *schema.attr_names, *schema.output_names, *schema.residual_names]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"schema of {schema.qualified_name!r}: expected every name once, got {name!r} twice")
    for decl in schema.outputs:
        sources = [source for source in schema.inputs if decl.alias and source.alias == decl.alias]
        wrong = ""
        if decl.alias and not sources:
            wrong = f"aliases ({decl.alias}), which no input carries; mark the input it shares memory with"
        elif decl.mutated and not any(source.mutated for source in sources):
            wrong = f"is marked ({decl.alias}!), but no input is mutated under that letter"
        elif decl.mutated and any(source.mutated and _form(source) != _form(decl) for source in sources):
            types = "both a Tensor, both a Tensor[] or both a Tensor?[]"
            wrong = f"hands on the input marked ({decl.alias}!), expected {types}"
        elif not decl.mutated and any(source.kind == "list" for source in sources):
            wrong = f"aliases ({decl.alias}), a list, expected one tensor that it shares memory with; return copies"
        if wrong:
            raise SchemaError(f"schema of {schema.qualified_name!r}: output {decl.name!r} {wrong}")


def _form(decl: TensorDecl) -> tuple[str, bool]:
    return decl.kind, decl.holes


def _unquoted(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Gives position and character of everything outside of quotes."""
    position = start
    while position < len(text):
        quoted = _QUOTED.match(text, position)
        if quoted is not None:
            position = quoted.end()
            continue
        yield position, text[position]
        position += 1


def _closing(text: str, start: int) -> int:
    depth = 0
    for position, char in _unquoted(text, start):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0:
            return position
    raise SchemaError(f"schema {text!r}: expected ')' for the '(' at column {start}")


def split(text: str, at: str = ",") -> list[str]:
    """Splits at commas, or at another sign, outside of brackets and quotes."""
    parts, depth, start = [], 0, 0
    for position, char in _unquoted(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
        if char == at and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def _parameter(part: str, text: str) -> InputDecl | AttrDecl:
    equals = (i for i, char in _unquoted(part) if char == "=" and part[i - 1 : i] not in ("<", ">"))
    at = next(equals, len(part))
    declaration, default = part[:at].strip(), part[at + 1 :].strip()
    kind, _, name = declaration.rpartition(" ")
    kind = kind.strip()
    if not name.isidentifier() or not kind:
        first, colon, rest = (each.strip() for each in declaration.partition(":"))
        turned = f"; write the type before the name: {rest} {first}" if colon and first.isidentifier() else ""
        raise SchemaError(f"schema {text!r}: expected 'type name', got {part!r}{turned}")
    tensor = _matched(kind, text)
    if tensor is not None:
        if at < len(part) and not (default == "None" and tensor["optional"] and not tensor["list"]):
            raise SchemaError(f"schema {text!r}: {part!r} has a default; only 'Tensor?' may have one, None")
        return InputDecl(name, *_tensor(tensor, text))
    try:
        decl = AttrDecl(name, AttrType.of(kind))
    except SchemaError as error:
        raise SchemaError(f"schema {text!r}: {error}") from None
    if at == len(part):
        return decl
    try:
        return decl.with_default(_value(decl.type.scalar, default), "default")
    except (ValueError, SyntaxError, OpsdkError) as error:
        raise SchemaError(
            f"schema {text!r}: default of {name!r} expected a literal of type {kind}, got {default!r}"
        ) from error


def _matched(kind: str, text: str) -> re.Match[str] | None:
    """Returns the parts of the type of a tensor; None of another type.

    Raises:
        SchemaError: its elements are none that the language has, or it is a list of a length, or None in its place.
    """
    found = pattern("tensor").fullmatch(kind)
    listed = None if found is not None else _LISTED.fullmatch(kind)
    if listed is not None:
        means = "a list of tensors has any length, which @op.infer or @op.check may refuse"
        means = means if listed["length"].strip() else "an empty list says what None would"
        raise SchemaError(f"schema {text!r}: type expected {listed['list']}[], got {kind!r}; {means}")
    elements = re.match(r"Tensor<([^<>]*)>", kind)
    if found is None and elements is not None:
        words = [word.strip() for word in elements[1].split("|")]
        for word in [word for word in words if word not in KINDS]:
            raise SchemaError(
                f"schema {text!r}: Tensor<...> expected {', '.join(KINDS)}, or several of them as int|bool, got "
                f"{word!r}; which of the dtypes of a kind are served is said by kernels"
            )
    return found


def _tensor(found: re.Match[str], text: str) -> tuple[str, str | None, bool, tuple[str, ...], bool]:
    """Returns kind, alias, whether it is changed in place, elements, and whether it is a list with holes.

    The elements are the words between `<` and `>`, each once and in one order, so that what is equal prints equally.
    """
    words = [] if found["elements"] is None else [word.strip() for word in found["elements"].split("|")]
    kind = "list" if found["list"] else "optional" if found["optional"] else "tensor"
    alias = found["letter"] and found["letter"].strip()
    holes = bool(found["list"] and found["optional"])
    return kind, alias, bool(found["changed"]), tuple(word for word in KINDS if word in words), holes


# Any: a value of one of the types of the schema language.
def _value(scalar: str, text: str) -> Any:
    """Returns the value of a literal; inf, nan and names of dtypes are words."""
    if text == "None":
        return None
    if text.startswith("[") and text.endswith("]"):
        return [_value(scalar, item) for item in split(text[1:-1])]
    if scalar == "dtype" and text[0] not in "'\"":
        return text
    return {"float": float, "complex": complex}.get(scalar, read_value)(text)


def _results(text: str, whole: str) -> tuple[OutputDecl, ...]:
    parts = split(text[1:-1]) if text.startswith("(") and text.endswith(")") else [text]
    outputs = []
    for position, part in enumerate(parts):
        written = _RESULT.fullmatch(part)
        tensor = _matched(written[1], whole) if written else None
        if written is None or tensor is None:
            raise SchemaError(
                f"schema {whole!r}: result expected 'Tensor name', 'Tensor? name', 'Tensor[] name' or "
                f"'Tensor?[] name', got {part!r}"
            )
        name = written[2] or ("y" if len(parts) == 1 else f"y{position}")
        if not name.isidentifier():
            raise SchemaError(f"schema {whole!r}: result name expected an identifier, got {name!r}")
        outputs.append(OutputDecl(name, *_tensor(tensor, whole)))
    return tuple(outputs)

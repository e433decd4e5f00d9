"""Parser of the schema language: `ns::name@2(Tensor x, Tensor? w=None, *, float eps=1e-5) -> (Tensor y, Tensor n)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from opsdk.core.dtype import KINDS
from opsdk.core.errors import OpsdkError, SchemaError
from opsdk.define.schema.schema import (
    REQUIRED,
    TYPE,
    AttrDecl,
    InputDecl,
    OpSchema,
    OutputDecl,
    ResidualDecl,
    coerce,
)

_HEAD = re.compile(r"\s*(?:(?P<ns>[^\W\d]\w*)::)?(?P<name>[^\W\d]\w*)(?:@(?P<version>\d+))?\s*")
_TENSOR = re.compile(r"Tensor(?:<(?P<elements>[^<>]*)>)?(?:\((?P<alias>[a-z])(?P<mutated>!?)\))?(?P<kind>\[\]|\?)?")
_RESULT = re.compile(r"(Tensor(?:<[^<>]*>)?\S*)\s*(.*)", re.DOTALL)
_RESIDUALS = re.compile(r"(.*?)\s*,\s*residuals\s*(\(.*\))\s*", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_KINDS = {None: "tensor", "?": "optional", "[]": "list"}


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
        tensor = _TENSOR.fullmatch(kind)
        is_one = kind == "object" or (tensor is not None and not tensor["kind"] and not tensor["alias"])
        if not name.isidentifier() or not is_one:
            raise SchemaError(
                f"{subject}: residual expected 'Tensor name', 'Tensor<int> name' or 'object name', got {text!r}; a "
                "list of arrays is an object"
            )
        elements = _tensor(tensor, subject)[3] if tensor else ()
        decls.append(ResidualDecl(name, "tensor" if tensor else "object", elements=elements))
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
        elif decl.mutated and any(source.mutated and source.kind != decl.kind for source in sources):
            wrong = f"hands on the input marked ({decl.alias}!), expected both a Tensor or both a Tensor[]"
        elif not decl.mutated and any(source.kind == "list" for source in sources):
            wrong = f"aliases ({decl.alias}), a list, expected one tensor that it shares memory with; return copies"
        if wrong:
            raise SchemaError(f"schema of {schema.qualified_name!r}: output {decl.name!r} {wrong}")


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
    declaration, _, default = (piece.strip() for piece in part.partition("="))
    kind, _, name = declaration.rpartition(" ")
    kind = kind.strip()
    if not name.isidentifier() or not kind:
        raise SchemaError(f"schema {text!r}: expected 'type name', got {part!r}")
    tensor = _TENSOR.fullmatch(kind)
    if tensor is not None:
        if default and not (default == "None" and tensor["kind"] == "?"):
            raise SchemaError(f"schema {text!r}: {part!r} has a default; only 'Tensor?' may have one, None")
        return InputDecl(name, *_tensor(tensor, text))
    if TYPE.fullmatch(kind) is None:
        raise SchemaError(
            f"schema {text!r}: type expected Tensor, Tensor?, Tensor[], int, float, bool, str, complex or dtype "
            f"(with [] or ?), got {kind!r}"
        )
    decl = AttrDecl(name, kind, REQUIRED)
    if not default:
        return decl
    try:
        return AttrDecl(name, kind, coerce(decl, _value(kind, default), "default"))
    except (ValueError, SyntaxError, OpsdkError) as error:
        raise SchemaError(
            f"schema {text!r}: default of {name!r} expected a literal of type {kind}, got {default!r}"
        ) from error


def _tensor(found: re.Match[str], text: str) -> tuple[str, str | None, bool, tuple[str, ...]]:
    """Returns kind, alias, whether it is changed in place, and elements.

    These are the words between `<` and `>`, each once and in one order, so that what is equal prints equally.
    """
    words = [] if found["elements"] is None else [word.strip() for word in found["elements"].split("|")]
    for word in words:
        if word not in KINDS:
            raise SchemaError(
                f"schema {text!r}: Tensor<...> expected {', '.join(KINDS)}, or several of them as int|bool, got "
                f"{word!r}; which of the dtypes of a kind are served is said by kernels"
            )
    elements = tuple(word for word in KINDS if word in words)
    return _KINDS[found["kind"]], found["alias"], bool(found["mutated"]), elements


# Any: a value of one of the types of the schema language.
def _value(kind: str, text: str) -> Any:
    """Returns the value of a literal; inf, nan and names of dtypes are words."""
    if text == "None":
        return None
    if text.startswith("[") and text.endswith("]"):
        return [_value(kind, item) for item in split(text[1:-1])]
    if kind.startswith("dtype") and text[0] not in "'\"":
        return text
    if kind.startswith("float"):
        return float(text)
    if kind.startswith("complex"):
        return complex(text)
    return ast.literal_eval(text)


def _results(text: str, whole: str) -> tuple[OutputDecl, ...]:
    parts = split(text[1:-1]) if text.startswith("(") and text.endswith(")") else [text]
    outputs = []
    for position, part in enumerate(parts):
        written = _RESULT.fullmatch(part)
        tensor = _TENSOR.fullmatch(written[1]) if written else None
        if written is None or tensor is None or tensor["kind"] == "?":
            raise SchemaError(f"schema {whole!r}: result expected 'Tensor name' or 'Tensor[] name', got {part!r}")
        name = written[2] or ("y" if len(parts) == 1 else f"y{position}")
        if not name.isidentifier():
            raise SchemaError(f"schema {whole!r}: result name expected an identifier, got {name!r}")
        outputs.append(OutputDecl(name, *_tensor(tensor, whole)))
    return tuple(outputs)

"""Error texts: each message in a `raise` occurs in a test.

`python -m tests.contracts.raises` rewrites untested_raises.txt, the list of messages that no test names yet.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from tests.contracts.tree import REPOSITORY, read_tree

RATCHET = Path(__file__).with_name("untested_raises.txt")
SHORTEST = 12  # characters; below this a literal piece is punctuation around values and identifies nothing
GRAM = 3  # consecutive words that a test has to share with the message

_GAP = "\0"  # stands between two pieces of text that are not adjacent in the message
_HEADER = """\
# Error messages that no test names yet: file, then the longest fixed piece of the text.
# Write the test, then delete the line. The list only shrinks; python -m tests.contracts.raises writes it anew.
"""


@dataclass(frozen=True)
class Message:
    """The fixed pieces of one raised text: what stands between the values, in order."""

    path: str
    line: int
    pieces: tuple[str, ...]

    @property
    def longest(self):
        return max(self.pieces, key=len)

    @property
    def entry(self):
        """Its line in the ratchet file; without a line number, so that it stays when code above it moves."""
        return f"{self.path}: {' '.join(_words(self.longest))}"


def raised_messages(modules):
    """Gives the message of every `raise X("...")` that has one; raises of variables and re-raises have none."""
    helpers = _functions(modules)
    found = []
    for module in modules.values():
        for scope in ast.walk(module.syntax):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                found += _in_scope(scope, module, helpers)
    return found


def untested(messages, test_texts):
    """Gives the messages of which no test text holds an identifying piece."""
    known = {gram for text in test_texts for gram in _all_grams(_pattern_words(text))}
    return [message for message in messages if not any(_identifying(piece) & known for piece in _candidates(message))]


def test_strings(folder):
    """Gives every string literal below a folder of tests, docstrings and these contracts apart."""
    here = Path(__file__).parent
    modules = read_tree(folder.parent, (folder.name,)).values()
    read = (module for module in modules if not (folder.parent / module.path).is_relative_to(here))
    return [text for module in read for text in _literals(module.syntax)]


def read_ratchet(path=RATCHET):
    """Gives the entries of the ratchet file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def _in_scope(scope, module, helpers):
    """The raises of one function, those of functions inside it apart."""
    for node in _own_nodes(scope):
        call = _raised_call(node, scope) if isinstance(node, ast.Raise) else None
        for text in _message_texts(call, scope, module, helpers) if call else []:
            if any(len(piece.strip()) >= SHORTEST for piece in text.split(_GAP)):
                yield Message(module.path, node.lineno, tuple(text.split(_GAP)))


def _own_nodes(scope):
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own_nodes(child)


def _raised_call(node, scope):
    """The call that makes the exception, found through a local name and through chained methods."""
    call = node.exc
    if isinstance(call, ast.Name):
        call = _last_assigned(call.id, scope, node.lineno)
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        call = call.func.value  # raise Error("...").with_code(...)
    return call if isinstance(call, ast.Call) else None


def _message_texts(call, scope, module, helpers):
    """The texts that the exception may carry; where the call names none, those in the helper that it calls."""
    given = _argument_texts(call, scope)
    if given or _is_class(call.func):
        return given
    name = _last_name(call.func)
    helper = helpers.get((module.path, name)) or helpers.get((module.parts[0], name))
    made = [node for node in ast.walk(helper) if isinstance(node, ast.Call) and _is_class(node.func)] if helper else []
    return [text for node in made for text in _argument_texts(node, helper)]


def _argument_texts(call, scope):
    """The first argument is the text; an error built from named parts has it in these."""
    arguments = call.args[:1] or [keyword.value for keyword in call.keywords]
    texts = [text for argument in arguments for text in _texts(argument, scope)]
    return [text for text in texts if text.strip(_GAP)]


def _is_class(function):
    return _last_name(function)[:1].isupper()


def _last_name(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(node, scope):
    """The alternative texts of an expression, with a gap for each value that only a run can know."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [_GAP]
    if isinstance(node, ast.JoinedStr):
        return [_joined(node)]
    if isinstance(node, ast.IfExp):
        return _texts(node.body, scope) + _texts(node.orelse, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [left + right for left in _texts(node.left, scope) for right in _texts(node.right, scope)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return [re.sub(r"%[^a-zA-Z%]*[a-zA-Z]", _GAP, text) for text in _texts(node.left, scope)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return [re.sub(r"\{[^}]*\}", _GAP, text) for text in _texts(node.func.value, scope)]
    if isinstance(node, ast.Name) and (value := _last_assigned(node.id, scope, node.lineno)):
        return _texts(value, scope)
    return [_GAP]


def _joined(node):
    return "".join(part.value if isinstance(part, ast.Constant) else _GAP for part in node.values)


def _last_assigned(name, scope, line):
    """The expression last given to a local name above a line."""
    values = [
        node.value
        for node in _own_nodes(scope)
        if isinstance(node, ast.Assign) and node.lineno < line
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return max(values, key=lambda value: value.lineno, default=None)


def _functions(modules):
    """Functions by (file, name), and by (top-level package, name) where only one function there has the name."""
    by_file, by_package = {}, {}
    for module in modules.values():
        for node in ast.walk(module.syntax):
            if isinstance(node, ast.FunctionDef):
                by_file[module.path, node.name] = node
                by_package.setdefault((module.parts[0], node.name), []).append(node)
    return {**{key: nodes[0] for key, nodes in by_package.items() if len(nodes) == 1}, **by_file}


def _literals(syntax):
    """String literals, docstrings apart; an f-string is one text with gaps."""
    skipped = set()
    texts = []
    for node in ast.walk(syntax):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values if isinstance(part, ast.Constant)}
            texts.append(_joined(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return texts


def _candidates(message):
    """The longest piece, and every other that is long enough to be told apart."""
    long = [piece for piece in message.pieces if len(piece.strip()) >= SHORTEST and len(_words(piece)) >= GRAM]
    return {message.longest, *long}


def _words(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def _pattern_words(text):
    """The runs of adjacent words in a test's text, which may be a regular expression."""
    text = re.sub(r"\\[AbBdDnrsStwWZ]|[.\])][*+?]+", _GAP, text)
    return [_words(run) for run in text.replace("\\", "").split(_GAP)]


def _all_grams(runs):
    return {gram for run in runs for size in range(1, GRAM + 1) for gram in _grams(run, size)}


def _grams(words, size):
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def _identifying(piece):
    words = _words(piece)
    return _grams(words, min(GRAM, len(words))) if words else set()


def _main():
    modules = read_tree()
    missing = untested(raised_messages(modules), test_strings(REPOSITORY / "tests"))
    entries = sorted({message.entry for message in missing})
    RATCHET.write_text(_HEADER + "".join(f"{entry}\n" for entry in entries), encoding="utf-8")
    print(f"{RATCHET.name}: {len(entries)} messages without a test")


if __name__ == "__main__":
    _main()

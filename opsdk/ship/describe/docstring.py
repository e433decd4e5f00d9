"""Docstrings as Markdown: paragraphs as they are, sections such as `Args:` as lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Example|Examples|Note|Attributes):$")
_ENTRY = re.compile(r"^(?P<name>[*\w, ]+):\s+(?P<text>.*)$")


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
            example = any(line.lstrip().startswith(">>>") for line in lines)
            blocks.append(_code(lines) if example else "\n".join(_entries(lines)))
        elif lines:
            blocks.append("\n".join(line.strip() for line in lines))
    return "\n\n".join(block for block in blocks if block)


def _code(lines: list[str]) -> str:
    return "\n".join(["```python", *(line[4:] for line in lines), "```"])


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

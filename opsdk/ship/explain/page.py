"""The page of all error codes, docs/errors.md, from the text of `opsdk explain`; run as a module it prints the page."""

from __future__ import annotations

from opsdk.ship.explain.codes import codes, explained

COMMAND = "python -m opsdk.ship.explain.page > docs/errors.md"
_CHAPTERS = {
    "OP1": "Defining an op",
    "OP2": "Calling, differentiating, running",
    "OP3": "Proving",
    "OP4": "Compiling",
    "OP5": "Packages and files",
}


def page() -> str:
    """Returns the page as Markdown: a chapter per hundred codes, a section per code."""
    lines = [
        "# Error codes",
        "",
        "What `opsdk explain CODE` prints, all of it. An error carries its code as `error.code`, and in the last note",
        f"below its message. This page is written by `{COMMAND}`, and held to it by a test.",
    ]
    chapter = ""
    for code, entry in sorted(codes().items()):
        title = _CHAPTERS[code[:3]]
        if title != chapter:
            lines += ["", f"## {title}"]
            chapter = title
        head, _, body = explained(code).partition("\n\n")
        lines += ["", f"### {code} {entry.error}", "", head.partition(": ")[2]]
        if body:
            lines += ["", "```text", body, "```"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")

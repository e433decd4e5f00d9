"""Elements of drawings in HTML pages: tags with escaped attributes and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape


def tag(name: str, attributes: Mapping[str, object], *content: str) -> str:
    """Writes one element.

    Args:
        name: of the element.
        attributes: in order; numbers get at most two decimals, and None is left out.
        content: markup.
    """
    written = "".join(f' {key}="{_written(value)}"' for key, value in attributes.items() if value is not None)
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def text(content: str, x: float, y: float, anchor: str = "start", kind: str | None = None) -> str:
    """Writes plain text at a place; `anchor` is "start", "middle" or "end"."""
    place = {"x": x, "y": y, "text-anchor": None if anchor == "start" else anchor, "class": kind}
    return tag("text", place, escape(content))


def drawing(width: float, height: float, label: str, content: Sequence[str], **attributes: str) -> str:
    """Writes a whole drawing.

    Args:
        width: in pixels; it shrinks on narrower screens.
        height: in pixels.
        label: what it shows, for those who do not see it.
        content: markup.
        **attributes: more of the drawing, such as the namespace that a file of its own needs.
    """
    frame = {"viewBox": f"0 0 {width:.0f} {height:.0f}", "width": width, "height": height}
    return tag("svg", {**attributes, **frame, "role": "img", "aria-label": label}, *content)


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))

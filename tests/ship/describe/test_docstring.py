import inspect

from opsdk.ship.describe.docstring import as_markdown


def test_sections_become_lists():
    def f():
        """One sentence
        over two lines.

        Args:
            x: float array
                of any shape.
            y, z: others.

        Returns the sum.

        Example:
            >>> f(1)
            1
        """

    assert as_markdown(inspect.cleandoc(f.__doc__)).splitlines() == [
        "One sentence",
        "over two lines.",
        "",
        "**Args**",
        "",
        "- `x`: float array of any shape.",
        "- `y, z`: others.",
        "",
        "Returns the sum.",
        "",
        "**Example**",
        "",
        "```python",
        ">>> f(1)",
        "1",
        "```",
    ]


def test_nothing_is_nothing():
    assert as_markdown("") == ""

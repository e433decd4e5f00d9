"""Expectation: a finding about an op that its author knows of, and that stays."""

from __future__ import annotations

from dataclasses import dataclass

from opsdk.core.errors import DefinitionError
from opsdk.core.origin import Origin, caller
from opsdk.define.kernel.kernel import KernelId


@dataclass(frozen=True)
class Expectation:
    """One `op.expect(...)`.

    Attributes:
        finding: a check as findings name it, `vjp.x` or all of `vjp`; or a code, `OP301`.
        reason: why it stays.
        row: words that the kernel's name has, such as `numba` or `float32,numba`; empty for every kernel.
        origin: where that was said.
    """

    finding: str
    reason: str
    row: str
    origin: Origin

    def covers(self, check: str, row: str, code: str) -> bool:
        """Whether a finding is the one that is expected."""
        is_it = self.finding in (check, check.partition(".")[0], code)
        return is_it and self.is_about(row)

    def is_about(self, row: str) -> bool:
        """Whether a kernel, as `cpu,float32,numba`, may show it."""
        return not self.row or KernelId.parse(row).has(self.row)

    def __str__(self) -> str:
        return f"{self.finding!r}{f' in kernel {self.row!r}' if self.row else ''}"

    @classmethod
    def of(cls, subject: str, finding: object, reason: object, row: object) -> Expectation:
        """Returns what the caller of `expect` expects of an op; anything may have been passed there.

        Raises:
            DefinitionError: finding or reason is empty or not a text, or row is not a text.
        """
        for name, value in (("finding", finding), ("reason", reason)):
            if not isinstance(value, str) or not value.strip():
                raise DefinitionError(
                    f"{subject}, expect: {name} expected a text, got {value!r}; write "
                    "op.expect('vjp.x', reason='why that is right as it is')"
                )
        if not isinstance(row, str):
            raise DefinitionError(f"{subject}, expect: row expected a text, got {row!r}; write row='float32,numba'")
        return cls(str(finding), str(reason), row, caller())

"""What a shell may complete behind a command: names of ops and packages that announce some, and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from opsdk.define.op import PROVIDERS, REGISTRY


def ops(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the ops that a word may become, opsdk's own by their bare names; no package is imported for it."""
    names = sorted(op.opdef.name.removeprefix("opsdk::") for op in REGISTRY if op.opdef.gradient_of is None)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def targets(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns ops, modules of installed packages that announce ops, and what makes the shell offer files."""
    modules = sorted({provider.module for provider in PROVIDERS.announced()})
    found = [CompletionItem(name) for name in modules if name.startswith(incomplete)]
    return [*ops(ctx, parameter, incomplete), *found, CompletionItem(incomplete, type="file")]

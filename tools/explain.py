"""``lapilli explain LP1234``: what an error code means and what to do about it."""

from __future__ import annotations

import difflib
import textwrap

import click

from ..frontend.errors import CODES
from ..ir.errors import InvalidError

WIDTH = 90


@click.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...")
def command(codes: tuple[str, ...]) -> None:
    """Explain error codes, the `code` of every lp.Error.

    Without a CODE, list all of them.
    """
    if not codes:
        for code, text in CODES.items():
            click.echo(f"{code}  {textwrap.shorten(text, WIDTH - 8, placeholder=' …')}")
        return
    explained = [explanation(code) for code in codes]
    click.echo("\n\n".join(explained))


def explanation(code: str) -> str:
    """Returns the paragraph of a code, however its letters are cased; InvalidError where there is no such code."""
    name = code.strip().upper()
    if name.isdigit():
        name = f"LP{name}"
    text = CODES.get(name)
    if text is None:
        close = ", ".join(difflib.get_close_matches(name, CODES, n=3))
        known = f"near it: {close}" if close else "lapilli explain lists them"
        raise InvalidError(f"there is no error code {code!r}; {known}")
    return f"{name}\n{textwrap.fill(text, WIDTH)}"

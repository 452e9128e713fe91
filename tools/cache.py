"""``lapilli cache [info | prune | clear]``: looks at and empties the cache on disk."""

from __future__ import annotations

import time

import click

from ..ir.config import config
from ..ir.errors import RuntimeFailure
from ..vk_runtime.disk_cache import DiskCache, cache_root, open_cache

KINDS = {"image": "device images", "names": "names they read", "pipelines": "pipeline caches"}
"""Prefix of an entry's name -> what it is."""


@click.group("cache", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Compiled kernels and pipelines on disk; without a command what `info` prints."""
    if context.invoked_subcommand is None:
        context.invoke(info)


@command.command()
def info() -> None:
    """Prints where the cache is, what is in it and how much it may hold."""
    if not config.cache:
        click.echo("the cache is off: LAPILLI_CACHE=0")
        return
    cache = _cache()
    entries = cache.entries()
    click.echo(f"folder    {cache.folder}")
    used = sum(entry.size_bytes for entry in entries)
    click.echo(f"size      {used:,} of {cache.limit_bytes:,} bytes")
    for prefix, what in KINDS.items():
        found = [entry for entry in entries if entry.name.startswith(f"{prefix}-")]
        size = sum(entry.size_bytes for entry in found)
        click.echo(f"{what:17} {len(found):6} entries  {size:12,} bytes")
    if entries:
        days = (time.time() - entries[-1].used_at) / 86_400
        click.echo(f"the entry that was unused for longest: {max(days, 0):.1f} days")


@command.command()
@click.option(
    "--size", type=click.IntRange(min=0), default=None, help="Bytes to keep [default: LAPILLI_CACHE_SIZE]."
)
def prune(size: int | None) -> None:
    """Removes what was unused for longest until the cache fits."""
    cache = _cache()
    _tell(cache, cache.prune(size), cache.limit_bytes if size is None else size)


@command.command()
def clear() -> None:
    """Removes every entry."""
    cache = _cache()
    _tell(cache, cache.clear(), 0)


def _tell(cache: DiskCache, removed: int, limit_bytes: int) -> None:
    """Prints how many entries are gone.

    Raises:
        RuntimeFailure: none, though there is more than `limit_bytes`.
    """
    if not removed and sum(entry.size_bytes for entry in cache.entries()) > limit_bytes:
        raise RuntimeFailure(f"nothing can be removed from {cache.folder}: see the warning above")
    click.echo(f"removed {removed} entries")


def _cache() -> DiskCache:
    """Returns the cache.

    Raises:
        RuntimeFailure: there is none.
    """
    found = open_cache()
    if found is None:
        reason = "it cannot be used, see the warning above" if config.cache else "LAPILLI_CACHE=0"
        raise RuntimeFailure(f"there is no cache in {cache_root()}: {reason}")
    return found

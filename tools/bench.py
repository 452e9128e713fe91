"""``lapilli bench``: the benchmarks of the checkout that lapilli was installed from; the package itself has none."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import cast

import click

from ..ir.errors import InvalidError

CHECKOUT = Path(__file__).resolve().parents[1]
"""Where `benchmarks` lies after ``pip install -e``, as ``make`` installs; else the folder of the package."""
_PACKAGE = "lapilli_benchmarks"


@click.command(name="bench", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Launch latency and kernel time, as ratios; needs a checkout, installed in place, and says there what it takes."""
    if not _has_benchmarks() and {"-h", "--help"} & {*arguments}:
        click.echo(context.get_help())
        return
    cast(click.Command, load("__main__").main).main(
        list(arguments), prog_name="lapilli bench", standalone_mode=False
    )


def _has_benchmarks() -> bool:
    return (CHECKOUT / "benchmarks" / "__main__.py").is_file()


def load(name: str) -> ModuleType:
    """Returns a module of the folder, by its place: there are other packages called benchmarks.

    Raises:
        InvalidError: lapilli was not installed from a checkout, in place.
    """
    folder = CHECKOUT / "benchmarks"
    if not _has_benchmarks():
        raise InvalidError(
            f"there is no folder 'benchmarks' in {CHECKOUT}; expected lapilli to be installed from a "
            "checkout, in place: run 'pip install -e .' or 'make bench' in one"
        )
    if _PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None and spec.loader is not None, f"{folder} holds no package"
        sys.modules[_PACKAGE] = package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_PACKAGE}.{name}")

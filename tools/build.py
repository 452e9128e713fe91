"""``lapilli build``: compiles kernels ahead of time.

    lapilli build kernels.py -o kernels.lpk --targets lavapipe,nvidia_h200
    lapilli build package -o all.table -o lavapipe,lavapipe.table

Python inputs are imported: what they do at import, they do here.
"""

from __future__ import annotations

from functools import partial

import click

from ..ir.errors import Error, warning_text
from .output import fail


def _names(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    """Returns the names of an option that may be repeated, None where it is not given."""
    return (
        tuple(word.strip() for text in value for word in text.split(",") if word.strip()) if value else None
    )


@click.command("build")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT…")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    required=True,
    metavar="[TARGET,]FILE",
    help="File to write: a file table where it ends in .table, else a bundle file.  TARGET,FILE: for one target.",
)
@click.option(
    "--targets",
    callback=_names,
    multiple=True,
    metavar="A,B",
    help="Targets that native code is made for; may be repeated.",
)
@click.option(
    "--fixed-targets",
    callback=_names,
    multiple=True,
    metavar="A,B",
    help="All kernels run on these targets and no others; may be repeated.",
)
@click.option(
    "--device-code-split",
    type=click.Choice(["auto", "per_kernel", "per_source", "off"]),
    help="How finely kernels are divided into images.",
)
@click.option(
    "--device-config",
    "device_configs",
    multiple=True,
    metavar="FILE",
    help="Targets of your own, as JSON; may be repeated.",
)
@click.option("--no-spirv", is_flag=True, help="Leave SPIR-V out: only native code, and no plain table.")
@click.option("-O0", "opt_level", flag_value=0, type=int, help="Fold nothing.")
@click.option("-O1", "opt_level", flag_value=1, type=int, help="The default.")
@click.option("-O2", "opt_level", flag_value=2, type=int, help="Spend more time.")
@click.option(
    "--disable-pass",
    "disabled_passes",
    multiple=True,
    metavar="PASS",
    help="An optimisation pass that does not run; may be repeated.",
)
@click.option("-g", "debug", is_flag=True, help="Images say which source line they come from.")
def command(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    targets: tuple[str, ...] | None,
    fixed_targets: tuple[str, ...] | None,
    device_code_split: str | None,
    device_configs: tuple[str, ...],
    no_spirv: bool,
    opt_level: int | None,
    disabled_passes: tuple[str, ...],
    debug: bool,
) -> None:
    """Compiles the kernels of Python files, packages and .mlir files to a bundle file or to file tables."""
    from ..frontend.lpk_building import BuildRequest, build
    from ..frontend.lpk_inputs import with_given_names

    try:
        result = build(
            BuildRequest(
                inputs=inputs,
                outputs=outputs,
                targets=targets or (),
                fixed_targets=fixed_targets,
                device_code_split=device_code_split,
                device_configs=device_configs,
                opt_level=opt_level,
                disabled_passes=disabled_passes,
                debug=True if debug else None,
                has_spirv=not no_spirv,
            )
        )
    except Error as error:
        fail(error, partial(with_given_names, inputs=inputs))
    for warning in result.warnings:
        click.echo(with_given_names(warning_text(warning), inputs), err=True)
    for note in result.notes:
        click.echo(f"note: {note}", err=True)
    for file in result.files:
        click.echo(f"wrote {file}", err=True)

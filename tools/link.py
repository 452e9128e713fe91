"""``lapilli link``: links SPIR-V modules into one.

    lapilli link kernels.spv library.spv -o program.spv

As spirv-link, whose options it takes; the result is validated.
"""

from __future__ import annotations

from pathlib import Path

import click

from ..ir.errors import Error, InvalidError
from .output import fail, write_output


@click.command("link")
@click.argument("files", nargs=-1, required=True, metavar="A.spv B.spv …")
@click.option("-o", "--output", required=True, metavar="OUT", help="File to write; - for standard output.")
@click.option("--allow-partial-linkage", is_flag=True, help="Leave imports that no module exports.")
@click.option("--create-library", is_flag=True, help="Keep the exported symbols.")
def command(files: tuple[str, ...], output: str, allow_partial_linkage: bool, create_library: bool) -> None:
    """Links SPIR-V modules into one."""
    try:
        linked = link_files(files, allow_unresolved=allow_partial_linkage, keep_exports=create_library)
        write_output(linked, None if output == "-" else output)
    except Error as error:
        fail(error)


def link_files(
    files: tuple[str, ...], *, allow_unresolved: bool = False, keep_exports: bool = False
) -> bytes:
    """Links the modules in files; messages call each by its file.

    Raises:
        LinkError: a file holds no module, symbols clash, differ or stay unresolved, or the result is invalid.
        InvalidError: a file cannot be read.
    """
    from ..spirv.public import link

    binaries: list[bytes] = []
    for file in files:
        try:
            binaries.append(Path(file).read_bytes())
        except OSError as error:
            raise InvalidError(f"cannot read {file}: {error.strerror}") from error
    return link(binaries, labels=files, allow_unresolved=allow_unresolved, keep_exports=keep_exports)

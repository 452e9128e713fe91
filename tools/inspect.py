"""``lapilli inspect``: what is in a bundle file, a file table or a SPIR-V module.

lapilli inspect kernels.lpk
lapilli inspect kernels.lpk --dot | dot -Tsvg > kernels.svg
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..ir.errors import Error
from .output import fail, write_output

if TYPE_CHECKING:
    from .file_contents import FileContents, ImageContents


@click.command("inspect")
@click.argument("file", metavar="X.lpk | X.table | X.spv")
@click.option(
    "--dot", "form", flag_value="dot", help="A graph of kernels, images and shared functions for Graphviz."
)
@click.option("--json", "form", flag_value="json", help="Everything, as JSON.")
def command(file: str, form: str | None) -> None:
    """Shows kernels, images, aspects, sizes, specialization constants and shared functions."""
    from .file_contents import contents_of

    try:
        contents = contents_of(Path(file))
        if form == "json":
            write_output(json.dumps(contents.as_json(), indent=1) + "\n", None)
        elif form == "dot":
            write_output(dot_of(contents), None)
        else:
            print_contents(contents)
    except Error as error:
        fail(error)


def print_contents(contents: FileContents) -> None:
    """Prints the tables."""
    from .console import make_console, print_table

    console = make_console()
    headings = ("image", "target", "kernels", "aspects", "work-group sizes", "sub-group sizes", "code")
    print_table(console, headings, [_image_row(image) for image in contents.images])
    kernels = [(printable(kernel), _listed(images)) for kernel, images in contents.kernels.items()]
    print_table(console, ("kernel", "images"), kernels)
    if contents.spec_constants:
        rows = [
            (printable(c.name), c.type, printable(c.default), _listed(c.images))
            for c in contents.spec_constants
        ]
        print_table(console, ("specialization constant", "type", "default", "images"), rows)
    if contents.shared_callees:
        rows = [(printable(callee), _listed(images)) for callee, images in contents.shared_callees.items()]
        print_table(console, ("shared function", "images"), rows)
    if contents.producer:
        click.echo(f"written by {printable(contents.producer)}")
    for image in contents.images:
        if image.problem:
            click.echo(printable(f"image {image.number}: {image.problem}"), err=True)


def _image_row(image: ImageContents) -> tuple[str, ...]:
    target = printable(image.target)
    if image.fixed_targets is not None:
        target = f"{target} (only {', '.join(image.fixed_targets) or 'none'})"
    return (
        str(image.number),
        target,
        printable(", ".join(image.kernels)) or "-",
        ", ".join(image.aspects) or "-",
        ", ".join("×".join(map(str, size)) for size in image.work_group_sizes) or "-",
        _listed(image.sub_group_sizes) or "-",
        "damaged" if image.problem else "none" if image.size_bytes is None else f"{image.size_bytes} bytes",
    )


def dot_of(contents: FileContents) -> str:
    """Returns a graph for Graphviz: kernels to their images, images to functions that several of them have."""
    lines = ["digraph lapilli {", "  rankdir=LR;", "  node [shape=box];"]
    for image in contents.images:
        label = "\n".join(_image_label(image))
        lines.append(f"  {_quoted(f'image {image.number}')} [label={_quoted(label)}];")
    for kernel, images in contents.kernels.items():
        lines.append(f"  {_quoted(f'kernel {kernel}')} [label={_quoted(kernel)}, shape=ellipse];")
        lines += [f"  {_quoted(f'kernel {kernel}')} -> {_quoted(f'image {number}')};" for number in images]
    for callee, images in contents.shared_callees.items():
        lines.append(f"  {_quoted(f'function {callee}')} [label={_quoted(callee)}, style=dashed];")
        lines += [f"  {_quoted(f'image {number}')} -> {_quoted(f'function {callee}')};" for number in images]
    return "\n".join([*lines, "}"]) + "\n"


def _image_label(image: ImageContents) -> list[str]:
    _, target, _, aspects, work_groups, sub_groups, code = _image_row(image)
    facts = (("", aspects), ("work-group ", work_groups), ("sub-group ", sub_groups))
    return [f"image {image.number}: {target}", *(what + fact for what, fact in facts if fact != "-"), code]


def printable(text: str) -> str:
    """Returns text that does nothing to a terminal: names come from files and may hold anything."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _quoted(text: str) -> str:
    """Returns a string of DOT."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))

"""The pass `compute-requirements`: what a device must have to run an image, as an attribute of its module.

    module { @k {aspect.used = [6 : i32, -1 : i32]} }
      =>  module attributes {aspect.requirements = {aspect = array<i32: 6>}} { @k … }

The keys are the properties of DPC++'s set "SYCL/device requirements"; one that would be empty is left out,
except `fixed_target` of an image compiled with fixed targets, which then has no other key.  All functions of
the image count, not only its entry points.  Internal aspects and named sub-group sizes never appear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ..ir.attribute_values import elements, integers
from ..ir.call_graph import functions
from ..ir.dialects import aspect
from ..ir.dialects.kernel import Function, kernel_local_size
from ..ir.errors import Diagnostic
from ..ir.kernel_info import Requirements
from .diagnose_aspects import deciding_entry_points, diagnose_image, needs, report

if TYPE_CHECKING:
    from ..ir.device_config import DeviceConfig


def compute_requirements(image: ModuleOp, *, with_locations: bool = True) -> tuple[Diagnostic, ...]:
    """Sets `aspect.requirements` of an image.

    Args:
        image: changed in place.
        with_locations: whether warnings say the places that the module knows.

    Returns:
        Warnings about functions that need what the image's entry points do not: their needs are added.
    """
    warnings = diagnose_image(image, with_locations=with_locations)
    roots = deciding_entry_points(image)
    entries: dict[str, Attribute] = {}
    if any(aspect.fixed_targets(root) for root in roots):
        entries["fixed_target"] = ArrayAttr([StringAttr(name) for name in _common_targets(image, roots)])
    else:
        aspects = {number for function in functions(image) for number in needs(function) if number >= 0}
        if aspects:
            entries["aspect"] = aspect.sizes_attribute(sorted(aspects))
        if sizes := _distinct(work_group_size(root) for root in roots):
            entries["reqd_work_group_size"] = ArrayAttr([aspect.sizes_attribute(size) for size in sizes])
        if widths := {w for f in functions(image) if (w := aspect.reqd_sub_group_size(f)) is not None}:
            entries["reqd_sub_group_size"] = aspect.sizes_attribute(sorted(widths))
    image.attributes[aspect.REQUIREMENTS] = DictionaryAttr(entries)
    return warnings


def work_group_size(function: Function) -> tuple[int, ...] | None:
    """Returns the required work-group size, slowest dimension first, or None."""
    return aspect.reqd_work_group_size(function) or kernel_local_size(function)


def _distinct(sizes: Iterable[tuple[int, ...] | None]) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(size for size in sizes if size is not None))


def _common_targets(image: ModuleOp, roots: Iterable[Function]) -> list[str]:
    """Targets that the image may run on; may be none, then it runs nowhere.

    A function that was compiled for further targets than the image's kernels was compiled for another program, so only
    the common ones count then.  One for fewer targets is the kernels' business: they assert that theirs suffice.
    """
    expected = frozenset[str]().union(*(aspect.fixed_targets(root) or () for root in roots))
    common = expected
    for function in functions(image):
        targets = aspect.fixed_targets(function)
        if targets is not None and not targets <= expected:
            common &= targets
    return sorted(common)


def read_requirements(image: ModuleOp, config: DeviceConfig | None = None) -> Requirements:
    """Returns `aspect.requirements` of an image as the runtime wants them.

    Args:
        image: a module that `compute_requirements` has seen; no attribute means no requirements.
        config: has the aspect number that stands for each fixed target; None: the configuration in force.

    Raises:
        InvalidError: a fixed target that the configuration does not have.
    """
    attribute = image.attributes.get(aspect.REQUIREMENTS)
    entries = dict(attribute.data) if isinstance(attribute, DictionaryAttr) else dict[str, Attribute]()
    names = aspect.strings(entries.get("fixed_target"))
    sizes = elements(entries.get("reqd_work_group_size")) or ()
    return Requirements(
        aspects=integers(entries.get("aspect")) or (),
        work_group_sizes=tuple(integers(size) or () for size in sizes),
        sub_group_sizes=integers(entries.get("reqd_sub_group_size")) or (),
        fixed_targets=None if names is None else _numbers(names, config),
    )


def _numbers(names: tuple[str, ...], config: DeviceConfig | None) -> tuple[int, ...]:
    if not names:
        return ()
    from ..ir.device_config import device_config  # seldom needed

    config = config or device_config()
    return tuple(sorted(config.target(name, "fixed target").aspect_number for name in names))


def images_of(module: ModuleOp) -> tuple[ModuleOp, ...]:
    """Returns the images inside `module` after `split-modules`, or `module` itself if it was not split."""
    inner = tuple(op for op in module.body.ops if isinstance(op, ModuleOp))
    return inner or (module,)


@dataclass(frozen=True)
class ComputeRequirementsPass(ModulePass):
    """Sets `aspect.requirements` of every image (see the head of this file)."""

    name = "compute-requirements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for image in images_of(op):
            report(compute_requirements(image))

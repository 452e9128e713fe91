"""The device images of translation units (`unit_image`), as their analysis finds them.

A unit is analysed as a whole: its kernels are built into one module and divided by the module's options.  A kernel that
cannot be built gets an image of its own, which raises its error when it is compiled.  An analysis holds until a
kernel comes or goes, or something that the kernels read from around themselves changes.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..ir.device_config import device_config
from ..ir.errors import BuildError, Diagnostic
from ..ir.kernel_info import AspectUse, Requirements
from ..ir.target_env import TargetEnv
from ..vk_runtime.kernel_id import KernelId
from .captures import Captures
from .checking import checks_of
from .compile import compile_lock, environment_of, load_compiler
from .compile_options import CompileOptions, options_of
from .constant_arguments import MissingConstantError
from .deep_stack import with_deep_stack
from .definition import KernelOptions
from .externals import EXTERNALS, ExternalFunction
from .function_attributes import attributes_of
from .signature import Signature
from .source import FunctionSource
from .spec_constant import live_id
from .unit_image import UnitImage
from .units import default_local_size, id_of, kernels_of, unit_names, unit_of

if TYPE_CHECKING:
    from ..passes.pipeline import AnalysedImage, Analysis
    from ..spirv.device_image import DeviceImage
    from .kernel import KernelFunction

UNBUILT = (BuildError, MissingConstantError)
"""Why a kernel has no IR: its text is wrong, or depends on a value that only launches give."""

MAX_RANK = 3
"""Dimensions that a launch range may have."""


@dataclass(frozen=True, slots=True)
class _Definition:
    """A kernel under the name that it has in its unit."""

    name: str
    options: KernelOptions
    signature: Signature
    source: FunctionSource


@dataclass(frozen=True, slots=True)
class _Analysis:
    """The images of a unit as they were found."""

    module: str
    kernels: tuple[weakref.ref[KernelFunction], ...]
    exported: tuple[ExternalFunction, ...]
    images: tuple[UnitImage, ...]
    options: CompileOptions

    def is_current(self, kernels: Sequence[KernelFunction]) -> bool:
        """Whether it is of these kernels, nothing that they read has changed, and what was broken still is."""
        return (
            self.options == options_of(self.module)
            and len(kernels) == len(self.kernels)
            and all(ref() is kernel for ref, kernel in zip(self.kernels, kernels, strict=True))
            and all(image.captures.are_current() for image in self.images)
            and not any(self._is_mended(image) for image in self.images if image.error is not None)
        )

    def _is_mended(self, image: UnitImage) -> bool:
        """Whether a kernel that could not be built can be now: a name that it lacked may be defined."""
        kernels = {name: kernel for name, ref in image.functions.items() if (kernel := ref()) is not None}
        try:
            if image.functions:
                _images(self.module, kernels, image.env)
            else:
                _images(self.module, {}, image.env, self.exported)
        except UNBUILT:
            return False
        return True


_analyses: dict[tuple[str, TargetEnv, str], _Analysis] = {}
"""The latest analysis of each unit for each environment and each of `target_env.CHECKS`."""


def images_of_unit(module: str, env: TargetEnv) -> tuple[UnitImage, ...]:
    """Returns the device images of a Python module's kernels, as IR.

    Args:
        module: its name.
        env: of the devices, see `TargetEnv.meet`.
    """
    kernels, exported = kernels_of(module), EXTERNALS.of_unit(module)
    key = (module, env, checks_of(options_of(module)))
    with compile_lock:
        found = _analyses.get(key)
        if found is None or found.exported != exported or not found.is_current(kernels):
            found = _analyses[key] = _Analysis(
                module,
                tuple(weakref.ref(kernel) for kernel in kernels),
                exported,
                (*_analyse(module, kernels, env), *_exports(module, exported, env)),
                options_of(module),
            )
        return found.images


def imports_of(image: DeviceImage) -> Mapping[str, ExternalFunction]:
    """Returns the functions of other units that the kernels of an image call, by symbol; none for images from
    elsewhere, and for those of kernels that were defined anew since."""
    found = _made_of(image)
    return {} if found is None else found[1].captures.imports


def exported_by(image: DeviceImage) -> Mapping[str, ExternalFunction]:
    """Returns the functions that an image of a Python module exports, by symbol; none for images from elsewhere."""
    found = _made_of(image)
    return {} if found is None else {f.symbol: f for f in found[0].exported if f.symbol in image.exports}


def _made_of(image: DeviceImage) -> tuple[_Analysis, UnitImage] | None:
    """Returns what an image was compiled from; None for images from elsewhere."""
    with compile_lock:
        for analysis in _analyses.values():
            for unit_image in analysis.images:
                if any(made is image for made in unit_image.compiled_images()):
                    return analysis, unit_image
    return None


def images_of_kernel(what: str, kernel_id: KernelId, env: TargetEnv) -> tuple[UnitImage, ...]:
    """Returns the images that hold a kernel, and those of the functions that its unit exports.

    Raises:
        InvalidError: in the name of `what`: the kernel is gone.
    """
    module = unit_of(what, kernel_id)
    return tuple(
        image
        for image in images_of_unit(module, env)
        if kernel_id in image.kernel_ids.values() or not image.kernel_ids
    )


def all_images(env: TargetEnv) -> tuple[UnitImage, ...]:
    """Returns the images of all units, also of those that only export functions."""
    units = dict.fromkeys((*unit_names(), *EXTERNALS.units()))
    return tuple(image for name in units for image in images_of_unit(name, env))


def _analyse(module: str, kernels: Sequence[KernelFunction], env: TargetEnv) -> tuple[UnitImage, ...]:
    load_compiler()
    named = _unit_names(kernels)
    by_level: dict[TargetEnv, list[str]] = {}
    for name, kernel in named.items():
        by_level.setdefault(environment_of(kernel, env), []).append(name)
    images: list[UnitImage] = []
    for level_env, names in by_level.items():
        images += _analyse_together(module, {name: named[name] for name in names}, level_env)
    return tuple(images)


def _unit_names(kernels: Sequence[KernelFunction]) -> dict[str, KernelFunction]:
    """Returns the kernels under names that differ: the second of one name gets ``~2``."""
    named: dict[str, KernelFunction] = {}
    for kernel in kernels:
        name, count = kernel.name, 1
        while name in named:
            count += 1
            name = f"{kernel.name}~{count}"
        named[name] = kernel
    return named


def _analyse_together(module: str, kernels: Mapping[str, KernelFunction], env: TargetEnv) -> list[UnitImage]:
    """Returns the images of kernels in one module; each kernel that cannot be built has one of its own."""
    try:
        return _images(module, kernels, env)
    except UNBUILT as error:
        if len(kernels) == 1:
            return [_broken(module, kernels, env, error)]
    groups: list[_Group] = []
    broken: list[UnitImage] = []
    for name, kernel in kernels.items():
        try:
            alone = _images(module, {name: kernel}, env)
        except UNBUILT as error:
            broken.append(_broken(module, {name: kernel}, env, error))
            continue
        imports = {symbol: found for image in alone for symbol, found in image.captures.imports.items()}
        group = next((group for group in groups if group.may_hold(imports)), None)
        if group is None:
            groups.append(group := _Group({}, {}))
        group.kernels[name] = kernel
        group.imports.update(imports)
    return [image for group in groups for image in _images(module, group.kernels, env)] + broken


@dataclass(frozen=True, slots=True)
class _Group:
    """Kernels that can be built into one module: no two mean different functions by one symbol."""

    kernels: dict[str, KernelFunction]
    imports: dict[str, ExternalFunction]

    def may_hold(self, imports: Mapping[str, ExternalFunction]) -> bool:
        return all(self.imports.get(symbol, found) is found for symbol, found in imports.items())


def _exports(module: str, exported: tuple[ExternalFunction, ...], env: TargetEnv) -> list[UnitImage]:
    """Returns the images of the functions that a unit exports; apart from its kernels, so that any kernel can be
    linked with them without getting the unit's kernels too."""
    options = options_of(module)
    env = replace(options.environment(env), checks=checks_of(options))
    try:
        return _images(module, {}, env, exported) if exported else []
    except BuildError as error:
        return [_broken(module, {}, env, error)]


def _images(
    module: str,
    kernels: Mapping[str, KernelFunction],
    env: TargetEnv,
    exported: Sequence[ExternalFunction] = (),
) -> list[UnitImage]:
    from xdsl.dialects.builtin import StringAttr

    from ..ir.call_graph import function_name, functions
    from ..ir.dialects.kernel import SOURCE_NAME
    from ..passes.pipeline import analyse
    from .builder import build_module, refusing_depth

    options = options_of(module)
    definitions = [_Definition(n, k.options, k.signature, k.source) for n, k in kernels.items()]

    def build() -> tuple[Analysis, Captures]:
        captures = Captures()
        ir = build_module(
            definitions,
            captures=captures,
            optional_aspects=env.optional_aspects,
            checks=env.checks,
            runs_all_branches=env.runs_all_branches,
            any_rank=True,
            externals=exported,
        )
        for function in functions(ir):
            kernel = kernels.get(name := function_name(function))
            if kernel is not None and kernel.name != name:
                function.attributes[SOURCE_NAME] = StringAttr(kernel.name)
        found = analyse(
            ir,
            env,
            mode=options.device_code_split,
            fixed_targets=options.fixed_targets,
            separates_callees=True,
            is_ours=True,
        )
        return found, captures

    with refusing_depth(definitions, exported):
        analysis, captures = with_deep_stack(build)
    return [_image(module, image, kernels, env, captures, analysis.diagnostics) for image in analysis.images]


def _image(
    module: str,
    analysed: AnalysedImage,
    kernels: Mapping[str, KernelFunction],
    env: TargetEnv,
    captures: Captures,
    diagnostics: tuple[Diagnostic, ...],
) -> UnitImage:
    from ..ir.dialects.spec_constant import DeclareOp

    symbols = [op.sym_name.data for op in analysed.module.walk() if isinstance(op, DeclareOp)]
    held = {name: kernels[name] for name in analysed.aspect_uses}
    others = kernels.keys() - held.keys()
    return UnitImage(
        kernel_ids={name: id_of(kernel) for name, kernel in held.items()},
        env=env,
        requirements=analysed.requirements,
        spec_symbols={symbol: live_id(symbol) for symbol in symbols},
        captures=captures,
        functions={name: weakref.ref(kernel) for name, kernel in held.items()},
        analysed=analysed,
        unit=module,
        diagnostics=tuple(found for found in diagnostics if found.function not in others),
        local_sizes={name: default_local_size(kernel) for name, kernel in held.items()},
        own_requirements={}
        if analysed.requirements.fixed_targets is None
        else {name: _own(kernel, analysed.aspect_uses[name]) for name, kernel in held.items()},
    )


def _own(kernel: KernelFunction, uses: Iterable[AspectUse]) -> Requirements:
    """Returns what a kernel needs by itself; the targets that its module asserts may not have it."""
    found = attributes_of(kernel)
    group, sub_group = found.reqd_work_group_size, found.reqd_sub_group_size
    return Requirements(
        aspects=tuple(use.aspect for use in uses),
        work_group_sizes=() if group is None else (group,),
        sub_group_sizes=(sub_group,) if isinstance(sub_group, int) else (),
    )


def _broken(
    module: str,
    kernels: Mapping[str, KernelFunction],
    env: TargetEnv,
    error: BuildError | MissingConstantError,
) -> UnitImage:
    return UnitImage(
        kernel_ids={name: id_of(kernel) for name, kernel in kernels.items()},
        env=env,
        requirements=_declared(module, kernels.values()),
        spec_symbols={},
        captures=Captures(),
        functions={name: weakref.ref(kernel) for name, kernel in kernels.items()},
        analysed=None,
        unit=module,
        error=copy(error),  # without its traceback, whose frames would keep dropped kernels alive
    )


def _declared(module: str, kernels: Iterable[KernelFunction]) -> Requirements:
    """Returns what kernels say that they need; all that is known of those whose code cannot be compiled."""
    found = [attributes_of(kernel) for kernel in kernels]
    aspects = {number for a in found for number in a.uses_aspects | (a.device_has or frozenset())}
    sub_groups = {a.reqd_sub_group_size for a in found}
    groups = [a.reqd_work_group_size for a in found if a.reqd_work_group_size is not None]
    targets, config = options_of(module).fixed_targets, device_config()
    return Requirements(
        aspects=tuple(sorted(number for number in aspects if number >= 0)),
        work_group_sizes=tuple(dict.fromkeys(groups)),
        sub_group_sizes=tuple(sorted(size for size in sub_groups if isinstance(size, int))),
        fixed_targets=tuple(sorted(config.target(name).aspect_number for name in targets)) or None,
    )

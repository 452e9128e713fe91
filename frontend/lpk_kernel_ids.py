"""The kernels that a bundle file describes: their ids, and whether code has their parameters.

Part of the composition root `lpk_loading`.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakValueDictionary

from ..ir.errors import InvalidError
from ..ir.kernel_info import (
    ImageParameter,
    KernelInfo,
    LocalParameter,
    Parameter,
    ScalarParameter,
    StreamParameter,
    ValueParameter,
)
from ..ir.lpk_records import ConstantRecord, KernelRecord
from ..vk_runtime.bundle_kernels import bound_to
from ..vk_runtime.foreign_arguments import binder_by_name
from ..vk_runtime.kernel_id import KernelId, make_kernel_id
from . import units
from .lpk_descriptions import described
from .lpk_signatures import (
    RuntimeParameter,
    foreign_parameters,
    local_size_of,
    runtime_parameters,
    signature_of,
)
from .spec_constant import SpecializationId

_loaded: WeakValueDictionary[tuple[KernelRecord, tuple[ConstantRecord, ...]], KernelId] = (
    WeakValueDictionary()
)
"""The kernels of files that are in use: two files, or one file loaded twice, have the same ids."""


def kernel_id(record: KernelRecord, constants: Mapping[str, SpecializationId]) -> KernelId:
    """Returns the program's id of a kernel where name and signature are the same, else one for files."""
    if record.is_foreign:
        return _foreign_id(record)
    signature, local_size = signature_of(record, constants), local_size_of(record, constants)
    description = described(record.name, record.qualified_name, signature, local_size)
    for id_ in application_ids(record.qualified_name):
        if id_.describe is not None and id_.describe() == description:
            return id_
    found = _loaded.get(description)
    if found is None:
        found = make_kernel_id(
            record.name,
            record.qualified_name,
            units.binder(record.name, signature),
            tuple(parameter.name for parameter in signature.parameters),
            units.specialised_local_size(local_size),
            lambda: description,
        )
        _loaded[description] = found
    return found


def _foreign_id(record: KernelRecord) -> KernelId:
    """Returns the id of a kernel that no Python function made."""
    description: tuple[KernelRecord, tuple[ConstantRecord, ...]] = record, ()
    found = _loaded.get(description)
    if found is None:
        names = tuple(parameter.name for parameter in record.parameters)
        bind = binder_by_name(record.name, names)
        found = make_kernel_id(record.name, record.qualified_name, bind, names, describe=lambda: description)
        _loaded[description] = found
    return found


def application_ids(qualified_name: str) -> list[KernelId]:
    """Returns the ids of the program's own kernels of a name: at most one."""
    module = qualified_name
    while "." in module:
        module = module.rpartition(".")[0]
        found = [k for k in units.kernels_of(module) if k.qualified_name == qualified_name]
        if found:
            meant = bound_to(qualified_name)
            return [units.id_of(next((kernel for kernel in found if kernel is meant), found[-1]))]
    return []


Expected = tuple[RuntimeParameter, ...] | tuple[str, ...]
"""Of a signature what each parameter must be, of a foreign kernel only the names."""


def expected_parameters(record: KernelRecord, constants: Mapping[str, SpecializationId]) -> Expected:
    """Returns what the parameters in the code of a kernel must be."""
    if record.is_foreign:
        return foreign_parameters(record)
    return runtime_parameters(signature_of(record, constants))


def check_parameters(info: KernelInfo, expected: Expected) -> None:
    """Raises where the code's parameters are not those of the signature: a launch relies on it."""
    names = tuple(p.name for p in info.parameters)
    if names == expected and names:  # a foreign kernel, whose arguments are checked by what the code says
        return
    found = [
        (
            p.name,
            p.dtype,
            0 if isinstance(p, ScalarParameter | StreamParameter) else p.ndim,
            _memory(p),
        )
        for p in info.parameters
        if not isinstance(p, ValueParameter)  # of foreign kernels
    ]
    memories = ("local", "image", "sampled")
    own = [p for p in expected if not isinstance(p, str)]
    wanted = [(p.name, p.dtype, p.ndim, p.access if p.access in memories else "") for p in own]
    if len(own) != len(expected) or found != wanted or len(found) != len(info.parameters):
        raise InvalidError(f"kernel {info.name!r} has other parameters in its code than in its signature")


def _memory(parameter: Parameter) -> str:
    """Returns what a parameter is beside arrays and scalars."""
    if isinstance(parameter, ImageParameter):
        return "sampled" if parameter.is_sampled else "image"
    return "local" if isinstance(parameter, LocalParameter) else ""

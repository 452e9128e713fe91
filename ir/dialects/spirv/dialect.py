"""The spirv dialect as a whole: every operation, attribute and type, for parsers and for who asks by name."""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from . import (
    arithmetic,
    atomic,
    attributes,
    barrier,
    bit,
    cast,
    composite,
    constants,
    control_flow,
    cooperative_matrix,
    glsl_arithmetic,
    glsl_elementary,
    glsl_geometry,
    glsl_parts,
    group,
    group_ballot,
    hint,
    image,
    image_sampling,
    image_types,
    integer_dot,
    logical,
    matrix,
    matrix_types,
    memory,
    pointers,
    spec_constants,
    spec_expression,
    structure,
    structured_control_flow,
    target_attributes,
    types,
)

_GROUPS = (
    structure,
    constants,
    spec_constants,
    memory,
    pointers,
    control_flow,
    structured_control_flow,
    arithmetic,
    logical,
    bit,
    cast,
    composite,
    atomic,
    barrier,
    glsl_arithmetic,
    glsl_elementary,
    glsl_geometry,
    glsl_parts,
    group,
    group_ballot,
    hint,
    integer_dot,
    cooperative_matrix,
    matrix,
    spec_expression,
    image,
    image_sampling,
)

SPIRV_OPS: dict[str, type[Operation]] = {op.name: op for group in _GROUPS for op in group.OPS}
"""Every operation class by its name."""

SPIRV = Dialect(
    "spirv",
    list(SPIRV_OPS.values()),
    [
        *attributes.ATTRIBUTES,
        *target_attributes.ATTRIBUTES,
        *types.TYPES,
        *matrix_types.TYPES,
        *image_types.TYPES,
    ],
)
"""The dialect."""

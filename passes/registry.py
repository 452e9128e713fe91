"""The passes that ``lapilli opt -p`` knows, by name; each is imported when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from ..ir.errors import InvalidError

_PASSES = {
    "canonicalize": ("optimise.canonicalize", "Canonicalize"),
    "carry-results": ("carry_results", "CarryResults"),
    "coarsen": ("coarsen.coarsen", "CoarsenPass"),
    "compute-requirements": ("compute_requirements", "ComputeRequirementsPass"),
    "cse": ("optimise.cse", "CommonSubexpressionElimination"),
    "dce": ("optimise.dce", "DeadCodeElimination"),
    "expand-remainders": ("expand_remainders", "ExpandRemainders"),
    "flatten-nests": ("flatten_nests", "FlattenNests"),
    "hoist-invariants": ("optimise.hoist_invariants", "HoistInvariants"),
    "inline": ("optimise.inline", "Inline"),
    "join-loads": ("optimise.join_loads", "JoinLoads"),
    "lift-breaks": ("optimise.lift_breaks", "LiftBreaks"),
    "lift-cf-to-scf": ("lift_cf_to_scf", "LiftCfToScf"),
    "limit-loops": ("limit_loops", "LimitLoopsPass"),
    "linearise-indices": ("optimise.linearise_indices", "LineariseIndices"),
    "lower-upstream": ("lower_upstream", "LowerUpstreamPass"),
    "lower-vectors": ("lower_vectors", "LowerVectorsPass"),
    "narrow-barriers": ("optimise.narrow_barriers", "NarrowBarriers"),
    "pair-rounds": ("pair_rounds", "PairRounds"),
    "promote-arrays": ("optimise.promote_arrays", "PromoteArrays"),
    "propagate-aspects": ("propagate_aspects", "PropagateAspectsPass"),
    "reduce-strength": ("optimise.reduce_strength", "ReduceStrength"),
    "rotate-barriers": ("rotate_barriers", "RotateBarriers"),
    "speculate-rounds": ("speculate_rounds", "SpeculateRounds"),
    "split-modules": ("split_modules", "SplitModulesPass"),
    "trap-accesses": ("traps.accesses", "TrapAccesses"),
    "trap-cooperation": ("traps.cooperation", "TrapCooperation"),
    "unroll-barriers": ("unroll_barriers", "UnrollBarriers"),
    "unroll-short": ("unroll_short", "UnrollShort"),
}
"""Name: module in this folder and the class."""


def pass_names() -> tuple[str, ...]:
    """Returns the names of all passes, in alphabetical order."""
    return tuple(sorted(_PASSES))


def pass_factory(name: str) -> Callable[[], type[ModulePass]]:
    """Returns a function that imports and returns the pass class; KeyError where there is none."""
    module, attribute = _PASSES[name]
    return lambda: cast(type[ModulePass], getattr(import_module(f".{module}", __package__), attribute))


def pass_descriptions() -> dict[str, str]:
    """Returns by name what each pass does, the first line of its class's text, with its options in braces."""
    found: dict[str, str] = {}
    for name in pass_names():
        kind = pass_factory(name)()
        options = " ".join(_spelt(field.name) for field in fields(kind))
        text = (kind.__doc__ or "").partition("\n")[0].removesuffix(" (see the head of this file).")
        found[name + (f"{{{options}}}" if options else "")] = text.rstrip(".:") + "."
    return found


def parse_passes(text: str) -> tuple[ModulePass, ...]:
    """Returns the passes that a pipeline names: ``propagate-aspects{exclude=6 warn=true},split-modules``.

    Blanks beside commas, braces and equals signs count for nothing, as in mlir-opt.

    Raises:
        InvalidError: bad syntax, an unknown pass (the known ones are listed) or an unknown option.
    """
    try:
        specs = tuple(parse_pipeline(_BESIDE_PUNCTUATION.sub(r"\1", text.strip())))
    except ArgSpecParseError as error:
        raise InvalidError(str(error)) from error
    return tuple(_make(spec) for spec in specs)


_BESIDE_PUNCTUATION = re.compile(r"\s*([,{}=])\s*")


def _make(spec: ArgSpec) -> ModulePass:
    if spec.name not in _PASSES:
        raise InvalidError(f"unknown pass '{spec.name}', expected one of {', '.join(pass_names())}")
    kind = pass_factory(spec.name)()
    spec = spec.normalize_parameter_names()
    given = {name: _checked(kind, name, values) for name, values in spec.parameters.items()}
    return kind.from_spec(ArgSpec(spec.name, given))


_OPTION_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool,), "true or false"),
    "int": ((int,), "a whole number"),
    "str": ((str,), "a name"),
    "tuple[str, ...]": ((str,), "names, as a,b"),
    "tuple[int | str, ...]": ((int, str), "numbers or names, as 5,fp64"),
}
"""Type of an option's field, as the pass writes it: what its values may be, and that in words."""


def _checked(kind: type[ModulePass], name: str, values: ParameterListType) -> ParameterListType:
    """Returns the values of one option; one without a value is true, as in ``propagate-aspects{warn}``."""
    types = {field.name: str(field.type) for field in fields(kind)}
    if name not in types:
        known = f"expected one of {', '.join(map(_spelt, types))}" if types else "it takes none"
        raise InvalidError(f"pass '{kind.name}' has no option '{_spelt(name)}', {known}")
    option_type = types[name]
    accepted, words = _OPTION_TYPES[option_type]
    values = values or ((True,) if option_type == "bool" else ())
    is_single = len(values) == 1 or option_type.startswith("tuple")
    if is_single and all(type(value) in accepted for value in values):
        return values
    found = ",".join(str(value).lower() for value in values)
    raise InvalidError(
        f"option '{_spelt(name)}' of pass '{kind.name}' takes {words}, found "
        + (f"'{found}'" if values else "nothing")
    )


def _spelt(name: str) -> str:
    return name.replace("_", "-")

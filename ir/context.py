"""The xDSL context that every parser and pass of the project uses."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from xdsl.context import Context
from xdsl.ir import Dialect

# Dialect name: module below `xdsl.dialects`, or below `.dialects` here, and the name of the Dialect in it.
_UPSTREAM = {
    "builtin": ("builtin", "Builtin"),
    "func": ("func", "Func"),
    "affine": ("affine", "Affine"),
    "arith": ("arith", "Arith"),
    "math": ("math", "Math"),
    "scf": ("scf", "Scf"),
    "cf": ("cf", "Cf"),
    "memref": ("memref", "MemRef"),
    "ub": ("ub", "UB"),
}
_OURS = {
    "spirv": ("spirv", "SPIRV"),
    "kernel": ("kernel", "KERNEL"),
    "aspect": ("aspect", "ASPECT"),
    "spec_constant": ("spec_constant", "SPEC_CONSTANT"),
}


UPSTREAM_MODULES = tuple(f"xdsl.dialects.{module}" for module, _ in _UPSTREAM.values())
"""xDSL's modules of these, which are imported by name."""
DIALECTS = (*_UPSTREAM, "vector", "gpu", "index", *_OURS)
"""Names of all of them."""


def make_context() -> Context:
    """Returns a new context that knows upstream's and our dialects.

    A dialect is imported when its first operation or attribute is parsed; importing all of them costs about
    a tenth of a second.
    """
    context = Context()
    for name, (module, attribute) in _UPSTREAM.items():
        _register(context, name, f"xdsl.dialects.{module}", attribute)
    package = __name__.rpartition(".")[0]
    _register(context, "gpu", f"{package}.parse_gpu", "GPU")
    _register(context, "vector", f"{package}.upstream.vector_sums", "VECTOR")
    _register(context, "index", f"{package}.upstream.index", "INDEX")
    for name, (module, attribute) in _OURS.items():
        _register(context, name, f"{package}.dialects.{module}", attribute)
    # Types such as !builtin.x and unregistered lookups need builtin at once.
    context.load_registered_dialect("builtin")
    return context


def _register(context: Context, name: str, module: str, attribute: str) -> None:
    context.register_dialect(name, lambda: cast(Dialect, getattr(import_module(module), attribute)))

"""What kernels check as they run: the one place that decides it."""

from __future__ import annotations

from ..ir.config import config
from .compile_options import CompileOptions


def checks_of(options: CompileOptions, debug: bool | None = None) -> str:
    """Returns what the kernels of a Python module with these options check, one of `target_env.CHECKS`.

    Debug mode by LAPILLI_DEBUG, ``lp.config.debug``, ``@lp.kernel(debug=True)`` or ``lp.compile_options(debug=True)``;
    else ``assert`` statements, as in Python: ``python -O`` leaves them out.

    Args:
        options: of the module.
        debug: the kernel's own; None: the module's.
    """
    if config.debug or (options.debug if debug is None else debug):
        return "debug"
    return "asserts" if __debug__ else "none"

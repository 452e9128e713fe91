"""Running a few lines of kernel-level IR in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from lapilli.ir.interpret.arguments import HostArray
from lapilli.ir.interpret.launch import LaunchShape, Options, interpret_module
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module


@pytest.fixture
def run_ir():
    """`run_ir(body, *arrays, parameters="%x: memref<?xf32>", n=…, local=…)`: runs a kernel `k`.

    The body finds the global id as ``%i``.
    """
    return _run


def _run(body, *arguments, parameters="", n=None, local=None, before="", **options):
    lines = "\n    ".join(body.strip().splitlines())
    text = f"""builtin.module {{
  {before}
  func.func @k({parameters}) attributes {{gpu.kernel}} {{
    %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
    {lines}
    func.return
  }}
}}
"""
    module = parse_module(text).module
    verify_module(module)
    range_ = n if isinstance(n, tuple) else (len(arguments[0]) if n is None else n,)
    given = [
        HostArray(a.reshape(-1).view(np.uint8), a.shape) if isinstance(a, np.ndarray) else a
        for a in arguments
    ]
    shape = LaunchShape(range_=range_, local=local or range_)
    return interpret_module(module, "k", shape, given, options=Options(**options))

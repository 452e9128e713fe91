"""User mistakes that pyright must find; test_pyright.py expects one error on each line that says so."""

from __future__ import annotations

import lapilli as lp


@lp.kernel
def writes_input(x: lp.In[lp.f32]) -> None:
    x[0] = 1.0  # error


@lp.kernel
def reads_output(x: lp.Out[lp.f32], y: lp.Out[lp.f32]) -> None:
    x[0] = y[0]  # error


@lp.kernel(local_sizes=8)  # error
def unknown_option(x: lp.Out[lp.f32]) -> None: ...


reads_output(3)  # error
reads_output["8"]  # error
print(lp.nothing)  # error

"""Taichi."""

import taichi

from ..driver import Driver
from .taichi_family import make_driver


def make() -> Driver:
    """Returns the driver of Taichi."""
    return make_driver(taichi, fixed_saxpy=False)

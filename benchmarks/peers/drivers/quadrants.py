"""Quadrants."""

import quadrants

from ..driver import Driver
from .taichi_family import make_driver


def make() -> Driver:
    """Returns the driver of Quadrants."""
    return make_driver(quadrants, fixed_saxpy=True)

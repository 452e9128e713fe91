"""Quick collections in long processes."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def frozen_heap() -> Iterator[None]:
    """Collections look through what a test has made, and not through all that the process held before.

    Tests of failures collect hundreds of times each, which takes seconds a time where other tests have left a gigabyte.
    """
    gc.freeze()
    yield
    gc.unfreeze()

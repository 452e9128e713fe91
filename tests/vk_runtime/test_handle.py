"""Owning Vulkan objects, and looking through what others change."""

from __future__ import annotations

import weakref

import pytest

from lapilli.vk_runtime.handle import Graveyard, living


class Owner:
    """Something that owns a Vulkan object."""


def test_what_is_added_while_it_is_looked_through():
    owners = [Owner() for _ in range(3)]
    found: weakref.WeakSet[Owner] = weakref.WeakSet(owners[:2])

    class Watched:
        is_first = True

        def __iter__(self):
            for owner in found:
                if self.is_first:
                    self.is_first = False
                    found.add(owners[2])  # as another thread may
                yield owner

    assert set(living(Watched())) == set(owners)


def test_each_is_destroyed_although_a_destroy_call_looks_as_well():
    """A finaliser in the middle of it may come here, too."""
    graveyard, destroyed, owners = Graveyard(), [], [Owner() for _ in range(4)]

    def destroy(number):
        if number not in destroyed:
            destroyed.append(number)
            graveyard.drain()

    for number, owner in enumerate(owners):
        graveyard.register(owner, lambda number=number: destroy(number))
    owners.clear()
    del owner
    graveyard.drain()
    assert sorted(destroyed) == [0, 1, 2, 3] and len(graveyard) == 0


def test_what_a_destroy_call_raises_is_not_taken_for_an_empty_graveyard():
    graveyard, owner = Graveyard(), Owner()
    graveyard.register(owner, lambda: [].remove("block"))
    del owner
    with pytest.raises(ValueError):
        graveyard.drain()

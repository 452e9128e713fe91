"""`vk_runtime.pipeline_cache`: what is saved, and what a driver is never given."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lapilli.ir.errors import DeviceLostError
from lapilli.vk_runtime import pipeline_cache
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.disk_cache import DiskCache, open_cache
from lapilli.vk_runtime.headers import NULL, ffi
from lapilli.vk_runtime.pipeline_cache import PipelineCache, is_cache_of


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path))


def test_the_driver_s_data_begins_with_the_header_of_the_device(device: Device) -> None:
    with PipelineCache(device.logical) as cache:
        data = cache.data()
        assert data is not None
        assert is_cache_of(data, cache._header)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("asked", "said", "expected"),
    [
        (32, 20, 32),  # lavapipe of Mesa 26.2
        (100, 60, 60),
        (100, 100, 100),
        (20, 20, 20),  # no header fits
        (32, 1 << 40, 32),  # what was not asked for is not there
    ],
)
def test_a_header_is_whole_whatever_the_driver_says_of_its_size(asked: int, said: int, expected: int) -> None:
    def get(device: object, cache: object, size: Any, buffer: Any) -> int:
        if buffer == NULL:
            size[0] = asked
        else:
            ffi.memmove(buffer, bytes(range(asked)), asked)
            size[0] = said
        return 0

    device: Any = SimpleNamespace(raw=NULL, vk=SimpleNamespace(vkGetPipelineCacheData=get))
    found = pipeline_cache._data_of(device, NULL)  # pyright: ignore[reportPrivateUsage]
    assert found == bytes(range(expected))


def test_saved_data_is_given_back_and_foreign_data_is_not(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, logical = open_cache(), device.logical  # opened now: it makes a cache of its own
    assert store is not None
    given: list[bytes | None] = []
    create_info = pipeline_cache._create_info  # pyright: ignore[reportPrivateUsage]

    def watched(data: bytes | None) -> object:
        given.append(data)
        return create_info(None)  # made-up content must not reach the driver

    monkeypatch.setattr(pipeline_cache, "_create_info", watched)
    cache = PipelineCache(logical)
    header = cache._header  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(cache, "data", lambda: header)
    assert not cache.save()  # a header alone
    monkeypatch.setattr(cache, "data", lambda: header + b"more")
    assert cache.save() and not cache.save()
    PipelineCache(logical)
    for position in (0, 4, 8, 12, 16):
        foreign = bytearray(header + b"more")
        foreign[position] ^= 1
        store.store(cache.name, bytes(foreign))
        PipelineCache(logical)
    store.store(cache.name, header[:-1])
    PipelineCache(logical)
    assert given == [None, header + b"more", *[None] * 6]


def test_too_much_data_is_left_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_cache, "MAX_DATA_BYTES", 8)
    with PipelineCache(device.logical) as cache:
        assert cache.data() is None and not cache.save()


class _Driver:
    """What a driver keeps in one cache: words."""

    def __init__(self, cache: PipelineCache, words: set[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        self._words, self._header = words, cache._header  # pyright: ignore[reportPrivateUsage]
        self.may_merge = True
        monkeypatch.setattr(cache, "data", self.data)
        monkeypatch.setattr(cache, "merge", self.merge)

    def data(self) -> bytes | None:
        found = self._header + b" ".join(sorted(self._words))
        return found if len(found) <= pipeline_cache.MAX_DATA_BYTES else None

    def merge(self, data: bytes) -> bool:
        if not self.may_merge:
            raise DeviceLostError("no")
        self._words |= {*data[len(self._header) :].split()}
        return True


def test_what_others_have_stored_meanwhile_stays(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes begin with an empty cache, and the one that knows less ends last; a cache is begun anew."""
    store, logical = open_cache(), device.logical
    assert store is not None
    empty = pipeline_cache._create_info(None)  # pyright: ignore[reportPrivateUsage]

    def create_info(data: bytes | None) -> object:
        del data  # made-up content must not reach the driver
        return empty

    monkeypatch.setattr(pipeline_cache, "_create_info", create_info)
    more, less = PipelineCache(logical), PipelineCache(logical)
    _Driver(more, {b"one", b"two", b"three"}, monkeypatch)
    driver = _Driver(less, {b"four"}, monkeypatch)
    assert more.save() and less.save()
    stored = store.load(more.name)
    assert stored is not None and stored.endswith(b"four one three two")
    assert not less.save()

    renewed = PipelineCache(logical, is_empty=True)
    driver = _Driver(renewed, {b"one"}, monkeypatch)
    driver.may_merge = False
    assert not renewed.save() and store.load(more.name) == stored
    driver.may_merge = True
    assert not renewed.save() and store.load(more.name) == stored, "it knows nothing new"
    _Driver(renewed, {b"five"}, monkeypatch)
    monkeypatch.setattr(pipeline_cache, "MAX_DATA_BYTES", len(stored))
    assert renewed.save(), "together they are too large: what is newer stays"
    assert (store.load(more.name) or b"").endswith(b"five") and len(store.load(more.name) or b"") < len(
        stored
    )


def test_caches_that_are_saved_at_the_same_instant_lose_nothing(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would store what it has joined with what was there before the others."""
    store, logical = open_cache(), device.logical
    assert store is not None
    empty = pipeline_cache._create_info(None)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(
        pipeline_cache, "_create_info", lambda _: empty
    )  # made-up content is not for the driver
    caches = [PipelineCache(logical) for _ in range(4)]
    for number, cache in enumerate(caches):
        _Driver(cache, {b"word%d" % number}, monkeypatch)
    really_load = DiskCache.load

    def load(self: DiskCache, name: str) -> bytes | None:
        found = really_load(self, name)
        time.sleep(0.02)  # the others get here
        return found

    monkeypatch.setattr(DiskCache, "load", load)
    threads = [threading.Thread(target=cache.save) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (store.load(caches[0].name) or b"").endswith(b"word0 word1 word2 word3")

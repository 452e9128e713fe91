"""What events cost while nobody listens."""

from __future__ import annotations

import pytest

from lapilli.vk_runtime import trace


class Image:
    """Counts how often it is identified."""

    asked = 0

    @property
    def digest(self) -> bytes:
        self.asked += 1
        return b"\x12\xab"


def test_images_are_identified_for_those_who_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "active", [])
    image = Image()
    trace.record("compile", kernel="k", image=image, device="d")
    assert image.asked == 0
    with trace.trace() as events:
        trace.record("compile", kernel="k", image=image, device="d")
        trace.record("launch", kernel="k")
        with trace.unobserved():
            trace.record("compile", image=image)
    assert events.events == [
        trace.TraceEvent("compile", "k", "12ab", "d"),
        trace.TraceEvent("launch", "k", "", ""),
    ]
    assert image.asked == 1

"""A driver that announces VK_KHR_pipeline_binary and lacks a function of it."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.ir.errors import RuntimeFailure
from lapilli.vk_runtime import native_pipelines
from lapilli.vk_runtime.native_pipelines import NativePipelines, encoded
from lapilli.vk_runtime.pipeline_binary import PipelineBinaryFunctions


def no_address(_name: str) -> int:
    return 0


def lacking(*_: object) -> PipelineBinaryFunctions:
    return PipelineBinaryFunctions(1, no_address, "some device")


def announced(_device: object) -> bool:
    return True


def test_it_is_said_which_is_missing() -> None:
    with pytest.raises(
        RuntimeFailure, match="'some device' does not have the function vkCreatePipelineBinariesKHR"
    ):
        lacking()


@pytest.mark.device
def test_it_counts_as_a_driver_without_the_extension(
    device: lp.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_pipelines, "functions_of", lacking)
    monkeypatch.setattr(native_pipelines, "has_pipeline_binaries", announced)
    pipelines = NativePipelines(device.logical)
    assert pipelines.functions is None
    assert not pipelines.add(encoded(b"key", {}))

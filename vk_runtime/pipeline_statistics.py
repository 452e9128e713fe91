"""What a driver says of a pipeline (VK_KHR_pipeline_executable_properties): registers, stack, code size.

Names and units are the driver's own.  Statistics need a flag at creation that may cost speed, so a pipeline is made
for the question alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .headers import NULL, ffi, make, make_array, structure_type, text_of

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

FEATURE = "pipelineExecutableInfo"
CAPTURE_FLAGS = 0x40
"""VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR."""

_STATISTIC = "VkPipelineExecutableStatisticKHR"
_FORMATS = {0: "b32", 1: "i64", 2: "u64", 3: "f64"}
"""VkPipelineExecutableStatisticFormatKHR to the member of the union that holds the value."""


def read_statistics(device: LogicalDevice, pipeline: Any) -> dict[str, int]:
    """Returns the statistics of a VkPipeline that was made with `CAPTURE_FLAGS`, by the driver's names.

    Of a name that comes more than once, as of a driver that compiles a shader in parts, the largest value counts.
    """
    vk, found = device.vk, dict[str, int]()
    for index in range(_count(device, pipeline)):
        info = make("VkPipelineExecutableInfoKHR", pipeline=pipeline, executableIndex=index)
        count = ffi.new("uint32_t*")
        function = vk.vkGetPipelineExecutableStatisticsKHR
        device.check(function(device.raw, info, count, NULL), "vkGetPipelineExecutableStatisticsKHR")
        rows = make_array(_STATISTIC, [{"sType": structure_type(_STATISTIC)}] * count[0])
        device.check(function(device.raw, info, count, rows), "vkGetPipelineExecutableStatisticsKHR")
        for row in rows[0 : count[0]]:
            name, value = text_of(row.name), int(getattr(row.value, _FORMATS.get(row.format, "u64")))
            found[name] = max(value, found.get(name, value))
    return found


def _count(device: LogicalDevice, pipeline: Any) -> int:
    info = make("VkPipelineInfoKHR", pipeline=pipeline)
    count = ffi.new("uint32_t*")
    function = device.vk.vkGetPipelineExecutablePropertiesKHR
    device.check(function(device.raw, info, count, NULL), "vkGetPipelineExecutablePropertiesKHR")
    return int(count[0])

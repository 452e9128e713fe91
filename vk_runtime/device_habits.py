"""DeviceHabits: the members of SYCL's ``info::device`` to which Vulkan has little to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir.aspects import Aspect

if TYPE_CHECKING:
    from .device import Device


def _width(aspect: Aspect | None = None) -> property:
    def width(self: DeviceHabits) -> int:
        """1, as compilers of Vulkan drivers form vectors themselves; 0 where the device lacks the type."""
        return int(aspect is None or self._owner.has(aspect))  # pyright: ignore[reportPrivateUsage] - a method

    return property(width)


class DeviceHabits:
    """What a device prefers, caches and keeps of IEEE 754, under SYCL's names."""

    __slots__ = ()

    _owner: Device

    preferred_vector_width_char = native_vector_width_char = _width(Aspect.VK_INT8)
    preferred_vector_width_short = native_vector_width_short = _width(Aspect.VK_INT16)
    preferred_vector_width_int = native_vector_width_int = _width()
    preferred_vector_width_long = native_vector_width_long = _width(Aspect.VK_INT64)
    preferred_vector_width_float = native_vector_width_float = _width()
    preferred_vector_width_double = native_vector_width_double = _width(Aspect.FP64)
    preferred_vector_width_half = native_vector_width_half = _width(Aspect.FP16)

    @property
    def single_fp_config(self) -> tuple[str, ...]:
        """What f32 keeps; subnormal numbers may become 0, and divisions are not always rounded correctly."""
        return ("inf_nan", "round_to_nearest")

    @property
    def double_fp_config(self) -> tuple[str, ...]:
        """What f64 keeps; empty without FP64."""
        return self.single_fp_config if self._owner.has(Aspect.FP64) else ()

    @property
    def half_fp_config(self) -> tuple[str, ...]:
        """What f16 keeps; empty without FP16."""
        return self.single_fp_config if self._owner.has(Aspect.FP16) else ()

    @property
    def sub_group_independent_forward_progress(self) -> bool:
        """False: Vulkan does not promise it."""
        return False

    @property
    def max_clock_frequency(self) -> int:
        """0: Vulkan does not say."""
        return 0

    @property
    def global_mem_cache_type(self) -> str:
        """``none``: Vulkan does not say."""
        return "none"

    @property
    def global_mem_cache_line_size(self) -> int:
        """0: Vulkan does not say."""
        return 0

    @property
    def global_mem_cache_size(self) -> int:
        """0: Vulkan does not say."""
        return 0

    @property
    def local_mem_type(self) -> str:
        """``global`` on CPUs, whose shared memory lies in that of the host, else ``local``."""
        return "global" if self._owner.has(Aspect.CPU) else "local"

    @property
    def max_constant_buffer_size(self) -> int:
        """Bytes of the largest uniform buffer."""
        return self._owner.physical.limits.max_uniform_buffer_range_bytes

    @property
    def max_constant_args(self) -> int:
        """Uniform buffers that a kernel can take."""
        return self._owner.physical.limits.max_uniform_buffers

    @property
    def image_max_buffer_size(self) -> int:
        """0: images are no views of arrays."""
        return 0

    @property
    def profile(self) -> str:
        """``FULL_PROFILE``."""
        return "FULL_PROFILE"

    @property
    def partition_affinity_domains(self) -> tuple[str, ...]:
        """Empty: Vulkan devices cannot be divided."""
        return ()

    @property
    def partition_type_property(self) -> str:
        """``no_partition``."""
        return "no_partition"

    @property
    def partition_type_affinity_domain(self) -> str:
        """``not_applicable``."""
        return "not_applicable"

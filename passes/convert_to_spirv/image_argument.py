"""How a kernel reaches an image parameter: its descriptor, coordinates, pixels.

What the kernel does with the image decides what it is.  One that is only read is fetched from like a texture, and one
that is only written is a storage image of no format: both take images of every format of their kind.  One that is read
and written is a storage image of the format that holds the kernel's pixels as they are, because few devices read
storage images whose format the code does not name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, UnitAttr, VectorType, f32, i1, i32
from xdsl.ir import Attribute, SSAValue

from ...ir.dialects import spirv
from ...ir.dialects.kernel import KernelParameter
from ...ir.dialects.kernel_image import CHANNELS, ImageType
from ...ir.dialects.spirv.attributes import ImageOperandsAttr
from ...ir.dialects.spirv.enums import Dim, ImageFormat, ImageOperands, ImageSamplerUseInfo, StorageClass
from ...ir.image_formats import ImageFormat as Format
from ...ir.image_formats import natural_format
from ...ir.kernel_info import ImageParameter
from ...ir.target_env import BindingModel
from .argument_block import ArgumentBlock, FieldKey, FieldKind
from .function_lowering import FunctionLowering
from .types import integer_attribute

_DIMS = {1: Dim.Dim1D, 2: Dim.Dim2D, 3: Dim.Dim3D}
_LOD = {"image_operands": ImageOperandsAttr(ImageOperands.Lod)}
EMULATED_DIMENSIONS = 3
"""Images of so many dimensions have no samplers for coordinates in pixels (VUID-vkCmdDispatch-unnormalizedCoordinates):
the kernel makes them normalised."""


class ImageArgument:
    """One image parameter of the kernel that is being lowered."""

    def __init__(
        self,
        fn: FunctionLowering,
        block: ArgumentBlock,
        parameter: KernelParameter,
        type_: ImageType,
        number: int,
        binding: int,
    ) -> None:
        """Describes parameter `number` of the signature; makes nothing yet."""
        if fn.module.env.binding_model is BindingModel.ADDRESS:
            raise TypeError("images need the binding model of descriptors")
        self._fn, self._block = fn, block
        self._parameter, self._type = parameter, type_
        self._number, self._binding = number, binding
        self._variable: spirv.GlobalVariableOp | None = None
        self._loaded: SSAValue | None = None
        self._image: SSAValue | None = None
        self._size: SSAValue | None = None

    # What handlers ask for

    def read(self, coordinates: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns the channels of a pixel."""
        fn = self._fn
        operands: tuple[SSAValue, ...] = (self._image_value(), self._vector(coordinates, i32))
        if self._shape.sampler_use is ImageSamplerUseInfo.NoSampler:
            return self._channels(fn.emit(spirv.ImageReadOp, operands, self._texel_type))
        pixel = fn.emit(spirv.ImageFetchOp, (*operands, fn.index(0)), self._texel_type, _LOD)
        return self._channels(pixel)

    def write(self, coordinates: Sequence[SSAValue], pixel: Sequence[SSAValue]) -> None:
        """Stores a pixel."""
        fn = self._fn
        texel = fn.emit(spirv.CompositeConstructOp, tuple(pixel), self._plain_texel_type)
        if self._texel_type != self._plain_texel_type:
            texel = fn.emit(spirv.BitcastOp, (texel,), self._texel_type)
        operands = (self._image_value(), self._vector(coordinates, i32), texel)
        fn.add(spirv.ImageWriteOp.create(operands=operands))

    def sample(self, coordinates: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns the channels of a filtered pixel."""
        fn = self._fn
        given = list(coordinates)
        if len(given) == EMULATED_DIMENSIONS:
            given = [self._normalised(value, dimension) for dimension, value in enumerate(given)]
        operands = (self._value(), self._vector(given, f32), fn.constant(f32, 0.0))
        return self._channels(fn.emit(spirv.ImageSampleExplicitLodOp, operands, self._texel_type, _LOD))

    def size(self, dimension: int) -> SSAValue:
        """Returns the extent along a dimension, slowest first."""
        rank = self._type.ndim.data
        if self._size is None:
            self._size = self._first_size(rank)
        if rank == 1:
            return self._size
        index = ArrayAttr([integer_attribute(rank - 1 - dimension, 32)])
        return self._fn.emit(spirv.CompositeExtractOp, (self._size,), i32, {"indices": index})

    def info(self) -> ImageParameter:
        """Returns what a launch must know; after the kernel is lowered."""
        parameter, rank = self._parameter, self._type.ndim.data
        natural = self._natural_format
        scales = tuple(
            self._block.offset_bytes(FieldKey(self._number, FieldKind.SCALE, d)) for d in range(rank)
        )
        return ImageParameter(
            name=parameter.name,
            dtype=parameter.dtype,
            ndim=rank,
            descriptor=self._descriptor,
            access=parameter.access,
            format="" if natural is None else natural.name,
            binding=self._binding,
            scale_offsets_bytes=scales if any(offset is not None for offset in scales) else (),
        )

    @property
    def global_symbols(self) -> tuple[str, ...]:
        """Its variable; none where the kernel does not touch it."""
        return () if self._variable is None else (self._variable.sym_name.data,)

    # What it is on the device

    @property
    def _descriptor(self) -> str:
        if self._type.is_sampled:
            return "sampled"
        return "fetched" if self._parameter.access == "read" else "storage"

    @property
    def _natural_format(self) -> Format | None:
        """The format of a storage image that is read and written."""
        if self._type.is_sampled or self._parameter.access != "read_write":
            return None
        try:
            return natural_format(self._parameter.dtype)
        except KeyError:
            raise TypeError(f"no format of images holds pixels of {self._parameter.dtype}") from None

    @property
    def _shape(self) -> spirv.ImageShape:
        natural = self._natural_format
        named = "Unknown" if natural is None or natural.spirv_name is None else natural.spirv_name
        is_storage = self._descriptor == "storage"
        return spirv.ImageShape(
            element=self._element,
            dim=_DIMS[self._type.ndim.data],
            sampler_use=ImageSamplerUseInfo.NoSampler if is_storage else ImageSamplerUseInfo.NeedSampler,
            format=ImageFormat[named],
        )

    @property
    def _element(self) -> Attribute:
        """The sampled type, whose sign must be that of the format (VUID-vkCmdDispatch-format-07753)."""
        element = self._type.element
        return i32 if str(element) == "ui32" else element

    @property
    def _texel_type(self) -> Attribute:
        return VectorType(self._element, [CHANNELS])

    @property
    def _plain_texel_type(self) -> Attribute:
        """The same with signless integers, as values are."""
        return self._fn.type(VectorType(self._type.value_type, [CHANNELS]))

    def _value(self) -> SSAValue:
        """Returns the image, with its sampler where it has one, loaded at the kernel's start."""
        if self._loaded is not None:
            return self._loaded
        fn, image = self._fn, spirv.ImageType(self._shape)
        held = spirv.SampledImageType(image) if self._type.is_sampled else image
        pointer = fn.module.types.pointer(held, StorageClass.UniformConstant)
        symbol = fn.module.reserve(f"{fn.name}.{self._parameter.name}")
        variable = spirv.GlobalVariableOp(symbol, pointer, binding=self._binding, descriptor_set=0)
        variable.attributes.update(self._decorations())
        variable.location = fn.location
        fn.module.add_global(variable)
        self._variable = variable
        base = fn.first(
            spirv.AddressOfOp.create(
                properties={"variable": fn.module.symbol(symbol)}, result_types=(pointer,)
            )
        )
        self._loaded = fn.first(spirv.LoadOp.create(operands=(base,), result_types=(held,)))
        return self._loaded

    def _decorations(self) -> Mapping[str, Attribute]:
        if self._descriptor != "storage":
            return {}
        if self._parameter.access == "write":
            return {"non_readable": UnitAttr()}
        return {"coherent": UnitAttr()} if self._fn.module.orders_memory else {}

    def _image_value(self) -> SSAValue:
        """Returns the image without its sampler."""
        if self._image is None:
            self._image = self._value()
            if self._type.is_sampled:
                op = spirv.ImageOp.create(
                    operands=(self._image,), result_types=(spirv.ImageType(self._shape),)
                )
                self._image = self._fn.first(op)
        return self._image

    def _first_size(self, rank: int) -> SSAValue:
        fn = self._fn
        type_ = i32 if rank == 1 else fn.type(VectorType(i32, [rank]))
        image = self._image_value()
        if self._descriptor == "storage":
            return fn.first(spirv.ImageQuerySizeOp.create(operands=(image,), result_types=(type_,)))
        return fn.first(
            spirv.ImageQuerySizeLodOp.create(operands=(image, fn.index(0)), result_types=(type_,))
        )

    # Coordinates and pixels

    def _vector(self, coordinates: Sequence[SSAValue], scalar: Attribute) -> SSAValue:
        """Returns coordinates in Vulkan's order: x, the last of ours, comes first."""
        values = tuple(reversed(coordinates))
        if len(values) == 1:
            return values[0]
        fn = self._fn
        return fn.emit(spirv.CompositeConstructOp, values, fn.type(VectorType(scalar, [len(values)])))

    def _channels(self, pixel: SSAValue) -> list[SSAValue]:
        fn, plain = self._fn, self._plain_texel_type
        if pixel.type != plain:
            pixel = fn.emit(spirv.BitcastOp, (pixel,), plain)
        scalar = fn.type(self._type.value_type)
        indices = (ArrayAttr([integer_attribute(number, 32)]) for number in range(CHANNELS))
        return [fn.emit(spirv.CompositeExtractOp, (pixel,), scalar, {"indices": i}) for i in indices]

    def _normalised(self, value: SSAValue, dimension: int) -> SSAValue:
        """Returns a coordinate that a sampler for normalised ones takes.

        The launch gives a factor: 0 where they are normalised, one over the extent where they count pixels, and the
        negative of that where the sampler takes the nearest pixel, whose middle is then meant: rounding must not lead
        to its neighbour.
        """
        fn = self._fn
        zero = fn.constant(f32, 0.0)
        factor = self._block.field(FieldKey(self._number, FieldKind.SCALE, dimension), f32)
        floor = fn.emit(spirv.GLFloorOp, (value,), f32)
        middle = fn.emit(spirv.FAddOp, (floor, fn.constant(f32, 0.5)), f32)
        is_nearest = fn.emit(spirv.FOrdLessThanOp, (factor, zero), i1)
        place = fn.emit(spirv.SelectOp, (is_nearest, middle, value), f32)
        scale = fn.emit(spirv.GLFAbsOp, (factor,), f32)
        scaled = fn.emit(spirv.FMulOp, (place, scale), f32)
        is_normalised = fn.emit(spirv.FOrdEqualOp, (factor, zero), i1)
        return fn.emit(spirv.SelectOp, (is_normalised, value, scaled), f32)

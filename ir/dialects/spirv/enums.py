"""SPIR-V enumerants that IR attributes name, with their numbers (SPIR-V 1.6 section 3).

`None` cannot be a member name in Python and is spelt `None_`.  Enumerants that nothing in the project
writes are left out; the complete tables belong to emission.
"""

from __future__ import annotations

import enum


class StorageClass(enum.IntEnum):
    """Where a pointer's pointee lives (SPIR-V 1.6 §3.7)."""

    UniformConstant = 0
    Input = 1
    Uniform = 2
    Output = 3
    Workgroup = 4
    CrossWorkgroup = 5
    Private = 6
    Function = 7
    Generic = 8
    PushConstant = 9
    AtomicCounter = 10
    Image = 11
    StorageBuffer = 12
    PhysicalStorageBuffer = 5349


class AddressingModel(enum.IntEnum):
    """Width of addresses (§3.4)."""

    Logical = 0
    Physical32 = 1
    Physical64 = 2
    PhysicalStorageBuffer64 = 5348


class MemoryModel(enum.IntEnum):
    """Memory model of a module (§3.5)."""

    Simple = 0
    GLSL450 = 1
    OpenCL = 2
    Vulkan = 3


class ExecutionModel(enum.IntEnum):
    """Kind of an entry point (§3.3)."""

    Vertex = 0
    TessellationControl = 1
    TessellationEvaluation = 2
    Geometry = 3
    Fragment = 4
    GLCompute = 5
    Kernel = 6


class ExecutionMode(enum.IntEnum):
    """Mode of an entry point (§3.6)."""

    ContractionOff = 31
    LocalSize = 17
    LocalSizeHint = 18
    SubgroupSize = 35
    SubgroupsPerWorkgroup = 36
    LocalSizeId = 38
    SubgroupUniformControlFlowKHR = 4421
    DenormPreserve = 4459
    DenormFlushToZero = 4460
    SignedZeroInfNanPreserve = 4461
    RoundingModeRTE = 4462
    RoundingModeRTZ = 4463
    MaximallyReconvergesKHR = 6023


class Decoration(enum.IntEnum):
    """Decorations of struct members and variables (§3.20)."""

    RelaxedPrecision = 0
    SpecId = 1
    Block = 2
    BufferBlock = 3
    RowMajor = 4
    ColMajor = 5
    ArrayStride = 6
    MatrixStride = 7
    BuiltIn = 11
    Restrict = 19
    Aliased = 20
    Volatile = 21
    Coherent = 23
    NonWritable = 24
    NonReadable = 25
    Uniform = 26
    Binding = 33
    DescriptorSet = 34
    Offset = 35
    NoContraction = 42
    Alignment = 44
    NoSignedWrap = 4469
    NoUnsignedWrap = 4470
    NonUniform = 5300
    RestrictPointer = 5355
    AliasedPointer = 5356


class LinkageType(enum.IntEnum):
    """What a linker does with a symbol (§3.48)."""

    Export = 0
    Import = 1


class Scope(enum.IntEnum):
    """Who takes part in an operation (§3.27)."""

    CrossDevice = 0
    Device = 1
    Workgroup = 2
    Subgroup = 3
    Invocation = 4
    QueueFamily = 5


class GroupOperation(enum.IntEnum):
    """How the work-items of a group combine their values (§3.28)."""

    Reduce = 0
    InclusiveScan = 1
    ExclusiveScan = 2
    ClusteredReduce = 3


class MemorySemantics(enum.IntFlag):
    """Ordering of a memory operation, and the storage that it orders (§3.25)."""

    None_ = 0
    Acquire = 0x2
    Release = 0x4
    AcquireRelease = 0x8
    SequentiallyConsistent = 0x10
    UniformMemory = 0x40
    SubgroupMemory = 0x80
    WorkgroupMemory = 0x100
    CrossWorkgroupMemory = 0x200
    AtomicCounterMemory = 0x400
    ImageMemory = 0x800
    OutputMemory = 0x1000
    MakeAvailable = 0x2000
    MakeVisible = 0x4000
    Volatile = 0x8000


class MemoryAccess(enum.IntFlag):
    """How a load, store or copy accesses memory (§3.26)."""

    None_ = 0
    Volatile = 0x1
    Aligned = 0x2
    Nontemporal = 0x4
    MakePointerAvailable = 0x8
    MakePointerVisible = 0x10
    NonPrivatePointer = 0x20


class FunctionControl(enum.IntFlag):
    """Hints on a function (§3.24)."""

    None_ = 0
    Inline = 0x1
    DontInline = 0x2
    Pure = 0x4
    Const = 0x8


class SelectionControl(enum.IntFlag):
    """Hints on a selection (§3.22)."""

    None_ = 0
    Flatten = 0x1
    DontFlatten = 0x2


class LoopControl(enum.IntFlag):
    """Hints on a loop (§3.23); those from DependencyLength on take a number each."""

    None_ = 0
    Unroll = 0x1
    DontUnroll = 0x2
    DependencyInfinite = 0x4
    DependencyLength = 0x8
    MinIterations = 0x10
    MaxIterations = 0x20
    IterationMultiple = 0x40
    PeelCount = 0x80
    PartialCount = 0x100


class FPRoundingMode(enum.IntEnum):
    """How a conversion to a narrower float rounds (§3.16)."""

    RTE = 0
    RTZ = 1
    RTP = 2
    RTN = 3


class PackedVectorFormat(enum.IntEnum):
    """How an integer dot product reads a scalar operand (§3.50)."""

    PackedVectorFormat4x8Bit = 0


class CooperativeMatrixLayout(enum.IntEnum):
    """Order of a cooperative matrix in memory (SPV_KHR_cooperative_matrix)."""

    RowMajor = 0
    ColumnMajor = 1


class CooperativeMatrixUse(enum.IntEnum):
    """Role of a cooperative matrix in a multiply-add (SPV_KHR_cooperative_matrix)."""

    MatrixA = 0
    MatrixB = 1
    MatrixAcc = 2


class CooperativeMatrixOperands(enum.IntFlag):
    """Which operands of a multiply-add hold signed integers, and whether it saturates."""

    None_ = 0
    ASigned = 0x1
    BSigned = 0x2
    CSigned = 0x4
    ResultSigned = 0x8
    AccSat = 0x10


class Dim(enum.IntEnum):
    """Dimensionality of an image (§3.8), spelt as MLIR spells it."""

    Dim1D = 0
    Dim2D = 1
    Dim3D = 2
    Cube = 3
    Rect = 4
    Buffer = 5
    SubpassData = 6


class ImageDepthInfo(enum.IntEnum):
    """Whether an image holds depths (§3.52.6, OpTypeImage)."""

    NoDepth = 0
    IsDepth = 1
    DepthUnknown = 2


class ImageArrayedInfo(enum.IntEnum):
    """Whether an image is an array of images."""

    NonArrayed = 0
    Arrayed = 1


class ImageSamplingInfo(enum.IntEnum):
    """Whether a pixel has several samples."""

    SingleSampled = 0
    MultiSampled = 1


class ImageSamplerUseInfo(enum.IntEnum):
    """Whether an image is read through a sampler, or is a storage image."""

    SamplerUnknown = 0
    NeedSampler = 1
    NoSampler = 2


class ImageFormat(enum.IntEnum):
    """Format of a storage image's pixels (§3.11)."""

    Unknown = 0
    Rgba32f = 1
    Rgba16f = 2
    R32f = 3
    Rgba8 = 4
    Rgba8Snorm = 5
    Rg32f = 6
    Rg16f = 7
    R11fG11fB10f = 8
    R16f = 9
    Rgba16 = 10
    Rgb10A2 = 11
    Rg16 = 12
    Rg8 = 13
    R16 = 14
    R8 = 15
    Rgba16Snorm = 16
    Rg16Snorm = 17
    Rg8Snorm = 18
    R16Snorm = 19
    R8Snorm = 20
    Rgba32i = 21
    Rgba16i = 22
    Rgba8i = 23
    R32i = 24
    Rg32i = 25
    Rg16i = 26
    Rg8i = 27
    R16i = 28
    R8i = 29
    Rgba32ui = 30
    Rgba16ui = 31
    Rgba8ui = 32
    R32ui = 33
    Rgb10a2ui = 34
    Rg32ui = 35
    Rg16ui = 36
    Rg8ui = 37
    R16ui = 38
    R8ui = 39
    R64ui = 40
    R64i = 41


class ImageOperands(enum.IntFlag):
    """What an image instruction takes beside image and coordinate (§3.14)."""

    None_ = 0
    Bias = 0x1
    Lod = 0x2
    Grad = 0x4
    ConstOffset = 0x8
    Offset = 0x10
    ConstOffsets = 0x20
    Sample = 0x40
    MinLod = 0x80
    MakeTexelAvailable = 0x100
    MakeTexelVisible = 0x200
    NonPrivateTexel = 0x400
    VolatileTexel = 0x800
    SignExtend = 0x1000
    ZeroExtend = 0x2000
    Nontemporal = 0x4000

"""The spirv dialect: upstream MLIR's operations, attributes and types, in generic syntax.

What is ours beyond MLIR 19 is said where it stands; the largest parts are results of selections and loops,
`spirv.mlir.break`, `spirv.mlir.continue`, `spirv.Switch`, bf16, `#spirv.null`, nested
`spirv.SpecConstantComposite`, and the functions in `glsl.NEWER_THAN_MLIR_19` and `glsl_more`.

Left out, because compute shaders of Vulkan 1.3 cannot have them or because newer instructions do the same:
what needs derivatives, `Kill` and what else belongs to fragments; geometry, mesh and ray tracing; OpenCL's
(capability Kernel, Addresses, Groups, Pipes, OpenCL.std); SPV_KHR_shader_ballot and subgroup_vote, which
GroupNonUniform… replaced; vendors' instructions; structs that contain pointers to themselves.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from . import (
    arithmetic,
    atomic,
    attributes,
    barrier,
    bit,
    cast,
    composite,
    constants,
    control_flow,
    cooperative_matrix,
    glsl,
    glsl_more,
    group,
    hint,
    image,
    image_sampling,
    image_types,
    integer_dot,
    logical,
    matrix,
    memory,
    spec_constants,
    spec_expression,
    structure,
    types,
)
from .arithmetic import DotOp as DotOp
from .arithmetic import FAddOp as FAddOp
from .arithmetic import FDivOp as FDivOp
from .arithmetic import FModOp as FModOp
from .arithmetic import FMulOp as FMulOp
from .arithmetic import FNegateOp as FNegateOp
from .arithmetic import FRemOp as FRemOp
from .arithmetic import FSubOp as FSubOp
from .arithmetic import IAddCarryOp as IAddCarryOp
from .arithmetic import IAddOp as IAddOp
from .arithmetic import IMulOp as IMulOp
from .arithmetic import ISubBorrowOp as ISubBorrowOp
from .arithmetic import ISubOp as ISubOp
from .arithmetic import SDivOp as SDivOp
from .arithmetic import SModOp as SModOp
from .arithmetic import SMulExtendedOp as SMulExtendedOp
from .arithmetic import SNegateOp as SNegateOp
from .arithmetic import SRemOp as SRemOp
from .arithmetic import UDivOp as UDivOp
from .arithmetic import UModOp as UModOp
from .arithmetic import UMulExtendedOp as UMulExtendedOp
from .arithmetic import VectorTimesScalarOp as VectorTimesScalarOp
from .atomic import AtomicAndOp as AtomicAndOp
from .atomic import AtomicCompareExchangeOp as AtomicCompareExchangeOp
from .atomic import AtomicCountOp as AtomicCountOp
from .atomic import AtomicExchangeOp as AtomicExchangeOp
from .atomic import AtomicIAddOp as AtomicIAddOp
from .atomic import AtomicIDecrementOp as AtomicIDecrementOp
from .atomic import AtomicIIncrementOp as AtomicIIncrementOp
from .atomic import AtomicISubOp as AtomicISubOp
from .atomic import AtomicLoadOp as AtomicLoadOp
from .atomic import AtomicOrOp as AtomicOrOp
from .atomic import AtomicSMaxOp as AtomicSMaxOp
from .atomic import AtomicSMinOp as AtomicSMinOp
from .atomic import AtomicStoreOp as AtomicStoreOp
from .atomic import AtomicUMaxOp as AtomicUMaxOp
from .atomic import AtomicUMinOp as AtomicUMinOp
from .atomic import AtomicUpdateOp as AtomicUpdateOp
from .atomic import AtomicXorOp as AtomicXorOp
from .atomic import EXTAtomicFAddOp as EXTAtomicFAddOp
from .atomic import EXTAtomicFMaxOp as EXTAtomicFMaxOp
from .atomic import EXTAtomicFMinOp as EXTAtomicFMinOp
from .attributes import AddressingModelAttr as AddressingModelAttr
from .attributes import ExecutionModeAttr as ExecutionModeAttr
from .attributes import ExecutionModelAttr as ExecutionModelAttr
from .attributes import FunctionControlAttr as FunctionControlAttr
from .attributes import LinkageAttributesAttr as LinkageAttributesAttr
from .attributes import LoopControlAttr as LoopControlAttr
from .attributes import MemoryAccessAttr as MemoryAccessAttr
from .attributes import MemoryModelAttr as MemoryModelAttr
from .attributes import MemorySemanticsAttr as MemorySemanticsAttr
from .attributes import NullAttr as NullAttr
from .attributes import ScopeAttr as ScopeAttr
from .attributes import SelectionControlAttr as SelectionControlAttr
from .attributes import StorageClassAttr as StorageClassAttr
from .attributes import VerCapExtAttr as VerCapExtAttr
from .barrier import ControlBarrierOp as ControlBarrierOp
from .barrier import MemoryBarrierOp as MemoryBarrierOp
from .bit import BitCountOp as BitCountOp
from .bit import BitFieldInsertOp as BitFieldInsertOp
from .bit import BitFieldSExtractOp as BitFieldSExtractOp
from .bit import BitFieldUExtractOp as BitFieldUExtractOp
from .bit import BitReverseOp as BitReverseOp
from .bit import BitwiseAndOp as BitwiseAndOp
from .bit import BitwiseOrOp as BitwiseOrOp
from .bit import BitwiseXorOp as BitwiseXorOp
from .bit import NotOp as NotOp
from .bit import ShiftLeftLogicalOp as ShiftLeftLogicalOp
from .bit import ShiftRightArithmeticOp as ShiftRightArithmeticOp
from .bit import ShiftRightLogicalOp as ShiftRightLogicalOp
from .cast import BitcastOp as BitcastOp
from .cast import ConvertFToSOp as ConvertFToSOp
from .cast import ConvertFToUOp as ConvertFToUOp
from .cast import ConvertPtrToUOp as ConvertPtrToUOp
from .cast import ConvertSToFOp as ConvertSToFOp
from .cast import ConvertUToFOp as ConvertUToFOp
from .cast import ConvertUToPtrOp as ConvertUToPtrOp
from .cast import FConvertOp as FConvertOp
from .cast import QuantizeToF16Op as QuantizeToF16Op
from .cast import SConvertOp as SConvertOp
from .cast import UConvertOp as UConvertOp
from .composite import CompositeConstructOp as CompositeConstructOp
from .composite import CompositeExtractOp as CompositeExtractOp
from .composite import CompositeInsertOp as CompositeInsertOp
from .composite import VectorExtractDynamicOp as VectorExtractDynamicOp
from .composite import VectorInsertDynamicOp as VectorInsertDynamicOp
from .composite import VectorShuffleOp as VectorShuffleOp
from .constants import ConstantOp as ConstantOp
from .constants import UndefOp as UndefOp
from .control_flow import BranchConditionalOp as BranchConditionalOp
from .control_flow import BranchOp as BranchOp
from .control_flow import BreakOp as BreakOp
from .control_flow import ContinueOp as ContinueOp
from .control_flow import FunctionCallOp as FunctionCallOp
from .control_flow import LoopOp as LoopOp
from .control_flow import MergeOp as MergeOp
from .control_flow import ReturnOp as ReturnOp
from .control_flow import ReturnValueOp as ReturnValueOp
from .control_flow import SelectionOp as SelectionOp
from .control_flow import SwitchOp as SwitchOp
from .control_flow import UnreachableOp as UnreachableOp
from .cooperative_matrix import KHRCooperativeMatrixLengthOp as KHRCooperativeMatrixLengthOp
from .cooperative_matrix import KHRCooperativeMatrixLoadOp as KHRCooperativeMatrixLoadOp
from .cooperative_matrix import KHRCooperativeMatrixMulAddOp as KHRCooperativeMatrixMulAddOp
from .cooperative_matrix import KHRCooperativeMatrixStoreOp as KHRCooperativeMatrixStoreOp
from .enums import AddressingModel as AddressingModel
from .enums import Decoration as Decoration
from .enums import ExecutionMode as ExecutionMode
from .enums import ExecutionModel as ExecutionModel
from .enums import FunctionControl as FunctionControl
from .enums import LinkageType as LinkageType
from .enums import LoopControl as LoopControl
from .enums import MemoryAccess as MemoryAccess
from .enums import MemoryModel as MemoryModel
from .enums import MemorySemantics as MemorySemantics
from .enums import Scope as Scope
from .enums import SelectionControl as SelectionControl
from .enums import StorageClass as StorageClass
from .glsl import GLAcoshOp as GLAcoshOp
from .glsl import GLAcosOp as GLAcosOp
from .glsl import GLAsinhOp as GLAsinhOp
from .glsl import GLAsinOp as GLAsinOp
from .glsl import GLAtan2Op as GLAtan2Op
from .glsl import GLAtanhOp as GLAtanhOp
from .glsl import GLAtanOp as GLAtanOp
from .glsl import GLCeilOp as GLCeilOp
from .glsl import GLCoshOp as GLCoshOp
from .glsl import GLCosOp as GLCosOp
from .glsl import GLCrossOp as GLCrossOp
from .glsl import GLExp2Op as GLExp2Op
from .glsl import GLExpOp as GLExpOp
from .glsl import GLFAbsOp as GLFAbsOp
from .glsl import GLFClampOp as GLFClampOp
from .glsl import GLFindILsbOp as GLFindILsbOp
from .glsl import GLFindSMsbOp as GLFindSMsbOp
from .glsl import GLFindUMsbOp as GLFindUMsbOp
from .glsl import GLFloorOp as GLFloorOp
from .glsl import GLFmaOp as GLFmaOp
from .glsl import GLFMaxOp as GLFMaxOp
from .glsl import GLFMinOp as GLFMinOp
from .glsl import GLFMixOp as GLFMixOp
from .glsl import GLFractOp as GLFractOp
from .glsl import GLFrexpStructOp as GLFrexpStructOp
from .glsl import GLFSignOp as GLFSignOp
from .glsl import GLInverseSqrtOp as GLInverseSqrtOp
from .glsl import GLLdexpOp as GLLdexpOp
from .glsl import GLLengthOp as GLLengthOp
from .glsl import GLLog2Op as GLLog2Op
from .glsl import GLLogOp as GLLogOp
from .glsl import GLNClampOp as GLNClampOp
from .glsl import GLNMaxOp as GLNMaxOp
from .glsl import GLNMinOp as GLNMinOp
from .glsl import GLNormalizeOp as GLNormalizeOp
from .glsl import GLPowOp as GLPowOp
from .glsl import GLRoundEvenOp as GLRoundEvenOp
from .glsl import GLRoundOp as GLRoundOp
from .glsl import GLSAbsOp as GLSAbsOp
from .glsl import GLSClampOp as GLSClampOp
from .glsl import GLSinhOp as GLSinhOp
from .glsl import GLSinOp as GLSinOp
from .glsl import GLSMaxOp as GLSMaxOp
from .glsl import GLSMinOp as GLSMinOp
from .glsl import GLSmoothStepOp as GLSmoothStepOp
from .glsl import GLSqrtOp as GLSqrtOp
from .glsl import GLSSignOp as GLSSignOp
from .glsl import GLStepOp as GLStepOp
from .glsl import GLTanhOp as GLTanhOp
from .glsl import GLTanOp as GLTanOp
from .glsl import GLTruncOp as GLTruncOp
from .glsl import GLUClampOp as GLUClampOp
from .glsl import GLUMaxOp as GLUMaxOp
from .glsl import GLUMinOp as GLUMinOp
from .glsl_more import GLDegreesOp as GLDegreesOp
from .glsl_more import GLDeterminantOp as GLDeterminantOp
from .glsl_more import GLDistanceOp as GLDistanceOp
from .glsl_more import GLFaceForwardOp as GLFaceForwardOp
from .glsl_more import GLFrexpOp as GLFrexpOp
from .glsl_more import GLMatrixInverseOp as GLMatrixInverseOp
from .glsl_more import GLModfOp as GLModfOp
from .glsl_more import GLModfStructOp as GLModfStructOp
from .glsl_more import GLPackDouble2x32Op as GLPackDouble2x32Op
from .glsl_more import GLPackHalf2x16Op as GLPackHalf2x16Op
from .glsl_more import GLPackSnorm2x16Op as GLPackSnorm2x16Op
from .glsl_more import GLPackSnorm4x8Op as GLPackSnorm4x8Op
from .glsl_more import GLPackUnorm2x16Op as GLPackUnorm2x16Op
from .glsl_more import GLPackUnorm4x8Op as GLPackUnorm4x8Op
from .glsl_more import GLRadiansOp as GLRadiansOp
from .glsl_more import GLReflectOp as GLReflectOp
from .glsl_more import GLRefractOp as GLRefractOp
from .glsl_more import GLUnpackDouble2x32Op as GLUnpackDouble2x32Op
from .glsl_more import GLUnpackHalf2x16Op as GLUnpackHalf2x16Op
from .glsl_more import GLUnpackSnorm2x16Op as GLUnpackSnorm2x16Op
from .glsl_more import GLUnpackSnorm4x8Op as GLUnpackSnorm4x8Op
from .glsl_more import GLUnpackUnorm2x16Op as GLUnpackUnorm2x16Op
from .glsl_more import GLUnpackUnorm4x8Op as GLUnpackUnorm4x8Op
from .hint import KHRAssumeTrueOp as KHRAssumeTrueOp
from .hint import KHRExpectOp as KHRExpectOp
from .hint import KHRReadClockOp as KHRReadClockOp
from .image import ImageFetchOp as ImageFetchOp
from .image import ImageOp as ImageOp
from .image import ImageQueryLevelsOp as ImageQueryLevelsOp
from .image import ImageQuerySamplesOp as ImageQuerySamplesOp
from .image import ImageQuerySizeLodOp as ImageQuerySizeLodOp
from .image import ImageQuerySizeOp as ImageQuerySizeOp
from .image import ImageReadOp as ImageReadOp
from .image import ImageSparseFetchOp as ImageSparseFetchOp
from .image import ImageSparseReadOp as ImageSparseReadOp
from .image import ImageSparseTexelsResidentOp as ImageSparseTexelsResidentOp
from .image import ImageTexelPointerOp as ImageTexelPointerOp
from .image import ImageWriteOp as ImageWriteOp
from .image import SampledImageOp as SampledImageOp
from .image_access import ImageAccessOp as ImageAccessOp
from .image_sampling import ImageDrefGatherOp as ImageDrefGatherOp
from .image_sampling import ImageGatherOp as ImageGatherOp
from .image_sampling import ImageSampleDrefExplicitLodOp as ImageSampleDrefExplicitLodOp
from .image_sampling import ImageSampleExplicitLodOp as ImageSampleExplicitLodOp
from .image_sampling import ImageSampleProjDrefExplicitLodOp as ImageSampleProjDrefExplicitLodOp
from .image_sampling import ImageSampleProjExplicitLodOp as ImageSampleProjExplicitLodOp
from .image_sampling import ImageSparseDrefGatherOp as ImageSparseDrefGatherOp
from .image_sampling import ImageSparseGatherOp as ImageSparseGatherOp
from .image_sampling import ImageSparseSampleDrefExplicitLodOp as ImageSparseSampleDrefExplicitLodOp
from .image_sampling import ImageSparseSampleExplicitLodOp as ImageSparseSampleExplicitLodOp
from .image_types import ImageShape as ImageShape
from .image_types import ImageType as ImageType
from .image_types import SampledImageType as SampledImageType
from .image_types import SamplerType as SamplerType
from .integer_dot import SDotAccSatOp as SDotAccSatOp
from .integer_dot import SDotOp as SDotOp
from .integer_dot import SUDotAccSatOp as SUDotAccSatOp
from .integer_dot import SUDotOp as SUDotOp
from .integer_dot import UDotAccSatOp as UDotAccSatOp
from .integer_dot import UDotOp as UDotOp
from .logical import AllOp as AllOp
from .logical import AnyOp as AnyOp
from .logical import FOrdEqualOp as FOrdEqualOp
from .logical import FOrdGreaterThanEqualOp as FOrdGreaterThanEqualOp
from .logical import FOrdGreaterThanOp as FOrdGreaterThanOp
from .logical import FOrdLessThanEqualOp as FOrdLessThanEqualOp
from .logical import FOrdLessThanOp as FOrdLessThanOp
from .logical import FOrdNotEqualOp as FOrdNotEqualOp
from .logical import FUnordEqualOp as FUnordEqualOp
from .logical import FUnordGreaterThanEqualOp as FUnordGreaterThanEqualOp
from .logical import FUnordGreaterThanOp as FUnordGreaterThanOp
from .logical import FUnordLessThanEqualOp as FUnordLessThanEqualOp
from .logical import FUnordLessThanOp as FUnordLessThanOp
from .logical import FUnordNotEqualOp as FUnordNotEqualOp
from .logical import IEqualOp as IEqualOp
from .logical import INotEqualOp as INotEqualOp
from .logical import IsInfOp as IsInfOp
from .logical import IsNanOp as IsNanOp
from .logical import LogicalAndOp as LogicalAndOp
from .logical import LogicalEqualOp as LogicalEqualOp
from .logical import LogicalNotEqualOp as LogicalNotEqualOp
from .logical import LogicalNotOp as LogicalNotOp
from .logical import LogicalOrOp as LogicalOrOp
from .logical import SelectOp as SelectOp
from .logical import SGreaterThanEqualOp as SGreaterThanEqualOp
from .logical import SGreaterThanOp as SGreaterThanOp
from .logical import SLessThanEqualOp as SLessThanEqualOp
from .logical import SLessThanOp as SLessThanOp
from .logical import UGreaterThanEqualOp as UGreaterThanEqualOp
from .logical import UGreaterThanOp as UGreaterThanOp
from .logical import ULessThanEqualOp as ULessThanEqualOp
from .logical import ULessThanOp as ULessThanOp
from .matrix import MatrixTimesMatrixOp as MatrixTimesMatrixOp
from .matrix import MatrixTimesScalarOp as MatrixTimesScalarOp
from .matrix import MatrixTimesVectorOp as MatrixTimesVectorOp
from .matrix import OuterProductOp as OuterProductOp
from .matrix import TransposeOp as TransposeOp
from .matrix import VectorTimesMatrixOp as VectorTimesMatrixOp
from .memory import AccessChainOp as AccessChainOp
from .memory import ArrayLengthOp as ArrayLengthOp
from .memory import CopyLogicalOp as CopyLogicalOp
from .memory import CopyMemoryOp as CopyMemoryOp
from .memory import CopyObjectOp as CopyObjectOp
from .memory import InBoundsAccessChainOp as InBoundsAccessChainOp
from .memory import LoadOp as LoadOp
from .memory import PtrAccessChainOp as PtrAccessChainOp
from .memory import PtrDiffOp as PtrDiffOp
from .memory import PtrEqualOp as PtrEqualOp
from .memory import PtrNotEqualOp as PtrNotEqualOp
from .memory import StoreOp as StoreOp
from .memory import VariableOp as VariableOp
from .spec_constants import ReferenceOfOp as ReferenceOfOp
from .spec_constants import SpecConstantCompositeOp as SpecConstantCompositeOp
from .spec_constants import SpecConstantOp as SpecConstantOp
from .spec_constants import SpecConstantOperationOp as SpecConstantOperationOp
from .spec_constants import YieldOp as YieldOp
from .spec_expression import SpecConstantExpressionOp as SpecConstantExpressionOp
from .structure import AddressOfOp as AddressOfOp
from .structure import EntryPointOp as EntryPointOp
from .structure import ExecutionModeOp as ExecutionModeOp
from .structure import FuncOp as FuncOp
from .structure import GlobalVariableOp as GlobalVariableOp
from .structure import ModuleOp as ModuleOp
from .types import ArrayType as ArrayType
from .types import CooperativeMatrixType as CooperativeMatrixType
from .types import MatrixType as MatrixType
from .types import PointerType as PointerType
from .types import RuntimeArrayType as RuntimeArrayType
from .types import SpecArrayType as SpecArrayType
from .types import StructMember as StructMember
from .types import StructType as StructType

_GROUPS = (
    structure,
    constants,
    spec_constants,
    memory,
    control_flow,
    arithmetic,
    logical,
    bit,
    cast,
    composite,
    atomic,
    barrier,
    glsl,
    group,
    hint,
    glsl_more,
    integer_dot,
    cooperative_matrix,
    matrix,
    spec_expression,
    image,
    image_sampling,
)

SPIRV_OPS: dict[str, type[Operation]] = {op.name: op for group in _GROUPS for op in group.OPS}
"""Every operation class by its name."""

SPIRV = Dialect("spirv", list(SPIRV_OPS.values()), [*attributes.ATTRIBUTES, *types.TYPES, *image_types.TYPES])
"""The dialect."""

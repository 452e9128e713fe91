"""The spirv dialect: upstream MLIR's operations, attributes and types, in generic syntax.

What is ours beyond MLIR 19 is said where it stands; the largest parts are results of selections and loops,
`spirv.mlir.break`, `spirv.mlir.continue`, `spirv.Switch`, names of members, bf16, `#spirv.null`, nested
`spirv.SpecConstantComposite`, and the functions that the `glsl_…` modules name as missing there.

Left out, because compute shaders of Vulkan 1.3 cannot have them or because newer instructions do the same:
what needs derivatives, `Kill` and what else belongs to fragments; geometry, mesh and ray tracing; OpenCL's
(capability Kernel, Addresses, Groups, Pipes, OpenCL.std); SPV_KHR_shader_ballot and subgroup_vote, which
GroupNonUniform… replaced; vendors' instructions.

Each family of names is imported when one of them is used: of 300 operations a kernel needs a few dozen.
"""

from __future__ import annotations

from ...deferred_operations import import_deferred

_NAMES_BY_MODULE = {
    "arithmetic": (
        "DotOp FAddOp FDivOp FModOp FMulOp FNegateOp FRemOp FSubOp IAddCarryOp IAddOp IMulOp ISubBorrowOp "
        "ISubOp SDivOp SModOp SMulExtendedOp SNegateOp SRemOp UDivOp UModOp UMulExtendedOp "
        "VectorTimesScalarOp"
    ),
    "atomic": (
        "AtomicAndOp AtomicCompareExchangeOp AtomicCountOp AtomicExchangeOp AtomicIAddOp AtomicIDecrementOp "
        "AtomicIIncrementOp AtomicISubOp AtomicLoadOp AtomicOrOp AtomicSMaxOp AtomicSMinOp AtomicStoreOp "
        "AtomicUMaxOp AtomicUMinOp AtomicUpdateOp AtomicXorOp EXTAtomicFAddOp EXTAtomicFMaxOp EXTAtomicFMinOp"
    ),
    "attributes": (
        "AddressingModelAttr DecorationAttr ExecutionModeAttr ExecutionModelAttr FunctionControlAttr "
        "LinkageAttributesAttr LoopControlAttr MemoryAccessAttr MemoryModelAttr MemorySemanticsAttr NullAttr ScopeAttr "
        "SelectionControlAttr StorageClassAttr VerCapExtAttr"
    ),
    "barrier": "ControlBarrierOp MemoryBarrierOp",
    "bit": (
        "BitCountOp BitFieldInsertOp BitFieldSExtractOp BitFieldUExtractOp BitReverseOp BitwiseAndOp "
        "BitwiseOrOp BitwiseXorOp NotOp ShiftLeftLogicalOp ShiftRightArithmeticOp ShiftRightLogicalOp"
    ),
    "cast": (
        "BitcastOp ConvertFToSOp ConvertFToUOp ConvertPtrToUOp ConvertSToFOp ConvertUToFOp ConvertUToPtrOp "
        "FConvertOp QuantizeToF16Op SConvertOp UConvertOp"
    ),
    "composite": (
        "CompositeConstructOp CompositeExtractOp CompositeInsertOp VectorExtractDynamicOp "
        "VectorInsertDynamicOp VectorShuffleOp"
    ),
    "constants": "ConstantOp UndefOp",
    "control_flow": (
        "BranchConditionalOp BranchOp FunctionCallOp ReturnOp ReturnValueOp SwitchOp UnreachableOp"
    ),
    "cooperative_matrix": (
        "KHRCooperativeMatrixLengthOp KHRCooperativeMatrixLoadOp KHRCooperativeMatrixMulAddOp "
        "KHRCooperativeMatrixStoreOp"
    ),
    "dialect": "SPIRV SPIRV_OPS",
    "enums": (
        "AddressingModel Decoration ExecutionMode ExecutionModel FunctionControl LinkageType LoopControl "
        "MemoryAccess MemoryModel MemorySemantics Scope SelectionControl StorageClass"
    ),
    "glsl_arithmetic": (
        "GLCeilOp GLFAbsOp GLFClampOp GLFindILsbOp GLFindSMsbOp GLFindUMsbOp GLFloorOp GLFmaOp GLFMaxOp "
        "GLFMinOp GLFMixOp GLFractOp GLFSignOp GLInverseSqrtOp GLNClampOp GLNMaxOp GLNMinOp GLRoundEvenOp "
        "GLRoundOp GLSAbsOp GLSClampOp GLSMaxOp GLSMinOp GLSmoothStepOp GLSqrtOp GLSSignOp GLStepOp "
        "GLTruncOp GLUClampOp GLUMaxOp GLUMinOp"
    ),
    "glsl_elementary": (
        "GLAcoshOp GLAcosOp GLAsinhOp GLAsinOp GLAtan2Op GLAtanhOp GLAtanOp GLCoshOp GLCosOp GLDegreesOp "
        "GLExp2Op GLExpOp GLLog2Op GLLogOp GLPowOp GLRadiansOp GLSinhOp GLSinOp GLTanhOp GLTanOp"
    ),
    "glsl_geometry": (
        "GLCrossOp GLDeterminantOp GLDistanceOp GLFaceForwardOp GLLengthOp GLMatrixInverseOp GLNormalizeOp "
        "GLReflectOp GLRefractOp"
    ),
    "glsl_parts": (
        "GLFrexpOp GLFrexpStructOp GLLdexpOp GLModfOp GLModfStructOp GLPackDouble2x32Op GLPackHalf2x16Op "
        "GLPackSnorm2x16Op GLPackSnorm4x8Op GLPackUnorm2x16Op GLPackUnorm4x8Op GLUnpackDouble2x32Op "
        "GLUnpackHalf2x16Op GLUnpackSnorm2x16Op GLUnpackSnorm4x8Op GLUnpackUnorm2x16Op GLUnpackUnorm4x8Op"
    ),
    "group": "GroupArithmeticOp GroupNonUniformUMaxOp GroupOp",
    "group_ballot": "GroupNonUniformBallotBitCountOp",
    "hint": "KHRAssumeTrueOp KHRExpectOp KHRReadClockOp",
    "image": (
        "ImageFetchOp ImageOp ImageQueryLevelsOp ImageQuerySamplesOp ImageQuerySizeLodOp ImageQuerySizeOp "
        "ImageReadOp ImageSparseFetchOp ImageSparseReadOp ImageSparseTexelsResidentOp ImageTexelPointerOp "
        "ImageWriteOp SampledImageOp"
    ),
    "image_access": "ImageAccessOp",
    "image_sampling": (
        "ImageDrefGatherOp ImageGatherOp ImageSampleDrefExplicitLodOp ImageSampleExplicitLodOp "
        "ImageSampleProjDrefExplicitLodOp ImageSampleProjExplicitLodOp ImageSparseDrefGatherOp "
        "ImageSparseGatherOp ImageSparseSampleDrefExplicitLodOp ImageSparseSampleExplicitLodOp"
    ),
    "image_types": "ImageShape ImageType SampledImageType SamplerType",
    "integer_dot": "IntegerDotOp SDotAccSatOp SDotOp SUDotAccSatOp SUDotOp UDotAccSatOp UDotOp",
    "logical": (
        "AllOp AnyOp FOrdEqualOp FOrdGreaterThanEqualOp FOrdGreaterThanOp FOrdLessThanEqualOp FOrdLessThanOp "
        "FOrdNotEqualOp FUnordEqualOp FUnordGreaterThanEqualOp FUnordGreaterThanOp FUnordLessThanEqualOp "
        "FUnordLessThanOp FUnordNotEqualOp IEqualOp INotEqualOp IsInfOp IsNanOp LogicalAndOp LogicalEqualOp "
        "LogicalNotEqualOp LogicalNotOp LogicalOrOp SelectOp SGreaterThanEqualOp SGreaterThanOp "
        "SLessThanEqualOp SLessThanOp UGreaterThanEqualOp UGreaterThanOp ULessThanEqualOp ULessThanOp"
    ),
    "matrix": (
        "MatrixTimesMatrixOp MatrixTimesScalarOp MatrixTimesVectorOp OuterProductOp TransposeOp "
        "VectorTimesMatrixOp"
    ),
    "matrix_types": "CooperativeMatrixType MatrixType",
    "memory": (
        "AccessChainOp ArrayLengthOp CopyLogicalOp CopyMemoryOp CopyObjectOp InBoundsAccessChainOp LoadOp "
        "StoreOp VariableOp"
    ),
    "pointers": "PtrAccessChainOp PtrDiffOp PtrEqualOp PtrNotEqualOp",
    "spec_constants": "ReferenceOfOp SpecConstantCompositeOp SpecConstantOp SpecConstantOperationOp YieldOp",
    "spec_expression": "SpecConstantExpressionOp",
    "structured_control_flow": "BreakOp ContinueOp LoopOp MergeOp SelectionOp",
    "structure": "AddressOfOp EntryPointOp ExecutionModeOp FuncOp GlobalVariableOp ModuleOp",
    "types": "ArrayType PointerType RuntimeArrayType SpecArrayType StructMember StructType",
}
"""Names of the dialect by the module of this package that defines them."""

_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_deferred(f"{__name__}.{module}"), name)
    globals()[name] = found  # next time Python finds it without asking
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})

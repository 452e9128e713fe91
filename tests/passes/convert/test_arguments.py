"""Arguments: what gets a place in the argument block, where, and what a launch is told."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.ir.errors import Location
from lapilli.ir.kernel_info import BufferParameter, LaunchAbi, ScalarParameter
from lapilli.ir.target_env import BindingModel, TargetEnv
from lapilli.passes.errors import PassError

Fixture = Callable[..., Any]

SCALARS = [
    ("bool", "i1"),
    ("i8", "i8"),
    ("u16", "i16"),
    ("i32", "i32"),
    ("u64", "i64"),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("f32", "f32"),
    ("f64", "f64"),
]


def parameters(*entries: tuple[str, str, int | None, str]) -> str:
    """Attribute text of parameters (name, dtype, ndim or None, access)."""
    texts = [
        f'{{name = "{name}", dtype = "{dtype}"'
        + ("" if ndim is None else f', ndim = {ndim} : i32, access = "{access}"')
        + "}"
        for name, dtype, ndim, access in entries
    ]
    return f", kernel.parameters = [{', '.join(texts)}]"


def test_only_used_fields_get_a_place(lower: Fixture, kernel: Fixture) -> None:
    text = kernel(
        "memref.store %b, %x[%i] : memref<?xf32>",
        "%x : memref<?xf32>, %a : f32, %b : f32",
        parameters(("x", "f32", 1, "write"), ("a", "f32", None, ""), ("b", "f32", None, "")),
    )
    info = lower(text).info
    assert info.parameters == (
        BufferParameter(
            name="x", dtype="f32", ndim=1, access="write", binding=0, extent_offsets_bytes=(None,)
        ),
        ScalarParameter(name="a", dtype="f32", offset_bytes=None),
        ScalarParameter(name="b", dtype="f32", offset_bytes=4),
    )
    assert info.abi == LaunchAbi(
        rank=1,
        range_offsets_bytes=(None,),
        base_offsets_bytes=(0,),
        local_size_spec_ids=(0, 1, 2),
        is_masked=False,
        argument_block_bytes=8,
    )


def test_a_kernel_that_needs_no_arguments_has_no_block(lower: Fixture, kernel: Fixture) -> None:
    lowered = lower(
        kernel(
            "%c = arith.constant 1.0 : f32\n%z = arith.constant 0 : index\n"
            "memref.store %c, %x[%z] : memref<?xf32>",
            "%x : memref<?xf32>",
        )
    )
    assert lowered.info.abi.base_offsets_bytes == (0,), "the prelude reads the work-item's index"
    lowered = lower(
        """func.func @k(%x : memref<?xf32>) attributes {gpu.kernel, kernel.rank = 3 : i32} { func.return }"""
    )
    assert lowered.info.abi.argument_block_bytes == 0
    assert lowered.info.abi.base_offsets_bytes == (None, None, None)
    assert "PushConstant" not in lowered.text and "StorageBuffer" not in lowered.text


def test_scalars_lie_at_their_natural_alignment(lower: Fixture, kernel: Fixture) -> None:
    names = [f"s{n}" for n in range(len(SCALARS))]
    stores = "\n".join(
        f"memref.store %{name}, %p{name}[%i] : memref<?x{type_}>"
        for name, (_, type_) in zip(names, SCALARS, strict=True)
        if type_ != "i1"
    )
    body = f"%w = arith.extui %s0 : i1 to i8\nmemref.store %w, %ps0[%i] : memref<?xi8>\n{stores}"
    scalars = [f"%{name} : {type_}" for name, (_, type_) in zip(names, SCALARS, strict=True)]
    arrays = [
        f"%p{name} : memref<?x{'i8' if type_ == 'i1' else type_}>"
        for name, (_, type_) in zip(names, SCALARS, strict=True)
    ]
    entries = [(name, dtype, None, "") for name, (dtype, _) in zip(names, SCALARS, strict=True)]
    entries += [(f"p{name}", dtype, 1, "write") for name, (dtype, _) in zip(names, SCALARS, strict=True)]
    lowered = lower(kernel(body, ", ".join(scalars + arrays), parameters(*entries)))
    offsets = [p.offset_bytes for p in lowered.info.parameters if isinstance(p, ScalarParameter)]
    # base (4), bool, i8, u16, i32 of 4 bytes each, u64 at 24, f16, bf16, f32, f64 at 48.
    assert offsets == [4, 8, 12, 16, 24, 32, 36, 40, 48]
    assert lowered.info.abi.argument_block_bytes == 56
    assert [p.binding for p in lowered.info.parameters if isinstance(p, BufferParameter)] == list(range(9))


def test_extents_are_those_of_inner_dimensions(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %v = memref.load %x[%i, %i, %i] : memref<?x?x?xf32>
      memref.store %v, %y[%i, %i] : memref<?x16xf32>"""
    lowered = lower(kernel(body, "%x : memref<?x?x?xf32>, %y : memref<?x16xf32>"))
    x, y = lowered.info.parameters
    assert (x.extent_offsets_bytes, y.extent_offsets_bytes) == ((None, 4, 8), (None, None))
    # (i * n1 + i) * n2 + i, and i * 16 + i: the outermost extent is never read.
    # The first of each is the work-item's id; rows are computed behind their index.
    arithmetic = [n for n in lowered.names() if n in ("IMul", "IAdd")]
    assert sorted(arithmetic) == ["IAdd"] * 4 + ["IMul"] * 4


def test_dim_reads_the_extent(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %zero = arith.constant 0 : index
      %n = memref.dim %x, %zero : memref<?x?xi32>
      %m = arith.index_cast %n : index to i32
      memref.store %m, %x[%i, %i] : memref<?x?xi32>"""
    lowered = lower(kernel(body, "%x : memref<?x?xi32>"))
    assert lowered.info.parameters[0].extent_offsets_bytes == (4, 8)


def test_dim_of_a_missing_dimension_is_refused(lower: Fixture, kernel: Fixture) -> None:
    body = "%d = arith.constant 2 : index\n%n = memref.dim %x, %d : memref<?xi32>"
    with pytest.raises(PassError, match="'arg0' has 1 dimensions, none is number 2"):
        lower(kernel(body, "%x : memref<?xi32>"))


@pytest.mark.parametrize(
    ("shape", "indices", "message"),
    [("", "", "at least one dimension"), ("65536x65537x", "%i, %i", "memory of the device has no room for")],
)
def test_local_arrays_that_no_device_has(
    lower: Fixture, kernel: Fixture, shape: str, indices: str, message: str
) -> None:
    type_ = f"memref<{shape}i32, #spirv.storage_class<Function>>"
    body = f"%p = memref.alloca() : {type_}\nmemref.store %s, %p[{indices}] : {type_}"
    with pytest.raises(PassError, match=message):
        lower(kernel(body, "%s : i32"))


FLAT = "%f = memref.collapse_shape %x [[0, 1, 2]] : memref<?x?x?xi32> into memref<?xi32>\n"
OTHERS = "%f = memref.collapse_shape %x [[0, 1, 2]] : memref<?x?x?xi32> into memref<?xf32>\n"
ROWS = "%f = memref.collapse_shape %x [[0, 1], [2]] : memref<?x?x?xi32> into memref<?x?xi32>\n"


def test_a_collapsed_array_takes_positions(lower: Fixture, kernel: Fixture) -> None:
    lower(kernel(FLAT + "memref.store %s, %f[%i] : memref<?xi32>", "%x : memref<?x?x?xi32>, %s : i32"))


@pytest.mark.parametrize(
    "body",
    [
        OTHERS + "%v = memref.load %f[%i] : memref<?xf32>\nmemref.store %v, %f[%i] : memref<?xf32>",
        ROWS + "memref.store %s, %f[%i, %i] : memref<?x?xi32>",
        FLAT + "%zero = arith.constant 0 : index\n%n = memref.dim %f, %zero : memref<?xi32>",
    ],
)
def test_what_a_collapsed_array_cannot_say_is_refused(lower: Fixture, kernel: Fixture, body: str) -> None:
    """Its extents are those of the array: rows of another length would be at the wrong place."""
    with pytest.raises(PassError, match=r"memref\.collapse_shape gives arrays of one dimension"):
        lower(kernel(body, "%x : memref<?x?x?xi32>, %s : i32"))


@pytest.mark.parametrize(
    ("access", "decoration"), [("read", "non_writable"), ("write", "non_readable"), ("read_write", "aliased")]
)
def test_access_decorates_the_buffer(lower: Fixture, kernel: Fixture, access: str, decoration: str) -> None:
    use = (
        "%c = arith.constant 1 : i32\nmemref.store %c, %x[%i] : memref<?xi32>"
        if access != "read"
        else "%c = memref.load %x[%i] : memref<?xi32>"
    )
    text = lower(kernel(use, "%x : memref<?xi32>", parameters(("x", "u32", 1, access)))).text
    (line,) = [line for line in text.splitlines() if "@k.x" not in line and '"k.x"' in line]
    assert decoration in line


def test_large_blocks_spill_to_a_buffer(lower: Fixture, kernel: Fixture) -> None:
    env = TargetEnv(max_push_constant_bytes=4)
    lowered = lower(kernel("memref.store %a, %x[%i] : memref<?xf32>", "%x : memref<?xf32>, %a : f32"), env)
    assert lowered.info.abi.argument_block_binding == 1
    assert lowered.info.abi.argument_block_bytes == 8
    assert "PushConstant" not in lowered.text
    exact = TargetEnv(max_push_constant_bytes=8)
    lowered = lower(kernel("memref.store %a, %x[%i] : memref<?xf32>", "%x : memref<?xf32>, %a : f32"), exact)
    assert lowered.info.abi.argument_block_binding is None


def test_addresses_lie_in_the_block_and_accesses_are_aligned(lower: Fixture, kernel: Fixture) -> None:
    env = TargetEnv(binding_model=BindingModel.ADDRESS)
    body = "%v = memref.load %x[%i, %i] : memref<?x?xf64>\nmemref.store %v, %y[%i] : memref<?xf64>"
    lowered = lower(kernel(body, "%x : memref<?x?xf64>, %y : memref<?xf64>"), env)
    x, y = lowered.info.parameters
    assert (x.address_offset_bytes, x.extent_offsets_bytes, y.address_offset_bytes) == (8, (16, 20), 24)
    assert lowered.info.abi.argument_block_bytes == 40
    assert "PhysicalStorageBuffer64" in lowered.text and "descriptor_set" not in lowered.text
    accesses = [line for line in lowered.text.splitlines() if "alignment = 8 : i32" in line]
    assert len(accesses) == 2
    assert lowered.text.count("spirv.GL.UMin") == 2  # no robustness keeps an index inside


def test_arrays_that_nothing_uses_count_as_bound_where_none_has_an_address(
    lower: Fixture, kernel: Fixture
) -> None:
    """The runtime tells by the addresses whether arrays are bound."""
    env = TargetEnv(binding_model=BindingModel.ADDRESS, max_push_constant_bytes=0)
    text = kernel(
        "memref.store %a, %x[%i] : memref<?xf32>", "%x : memref<?xf32>, %y : memref<?xf32>, %a : f32"
    )
    lowered = lower(text, env)
    used, unused = lowered.info.parameters[:2]
    assert used.address_offset_bytes is not None and unused.address_offset_bytes is None
    assert lowered.info.abi.argument_block_binding == 0
    lowered = lower(kernel("", "%x : memref<?xf32>, %y : memref<?xf32>, %a : f32"), env)
    assert lowered.info.abi.argument_block_binding in (None, 2)


def test_rank_reverses_the_order_of_dimensions(lower: Fixture) -> None:
    lowered = lower(
        """
        func.func @k(%x : memref<?x?xi32>) attributes {gpu.kernel, kernel.rank = 2 : i32, kernel.masked} {
          %row = "gpu.global_id"() <{dimension = #gpu<dim y>}> : () -> index
          %rows = kernel.global_range 0
          %groups = "gpu.grid_dim"() <{dimension = #gpu<dim x>}> : () -> index
          %depth = "gpu.global_id"() <{dimension = #gpu<dim z>}> : () -> index
          %local = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
          %group = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
          %a = arith.addi %rows, %groups : index
          %b = arith.addi %a, %depth : index
          %c = arith.addi %b, %local : index
          %d = arith.addi %c, %group : index
          %v = arith.index_cast %d : index to i32
          memref.store %v, %x[%row, %depth] : memref<?x?xi32>
          func.return
        }"""
    )
    abi = lowered.info.abi
    # Both extents of the range (x is lapilli's dimension 1), both bases, then the array's inner extent.
    assert (abi.range_offsets_bytes, abi.base_offsets_bytes) == ((0, 4), (8, 12))
    assert lowered.info.parameters[0].extent_offsets_bytes == (None, 16)
    assert abi.is_masked


def test_fixed_local_size(lower: Fixture) -> None:
    lowered = lower(
        """
        func.func @k(%x : memref<?xi32>) attributes {gpu.kernel, kernel.rank = 2 : i32,
            kernel.local_size = array<i32: 4, 16>, aspect.reqd_work_group_size = array<i32: 4, 16>} {
          %n = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
          %v = arith.index_cast %n : index to i32
          memref.store %v, %x[%n] : memref<?xi32>
          func.return
        }"""
    )
    assert "values = [16 : i32, 4 : i32, 1 : i32]" in lowered.text
    assert lowered.info.abi.local_size_spec_ids is None
    assert lowered.info.required_work_group_size == (4, 16)
    assert "referenceof" not in lowered.text


def test_one_specialisable_local_size_makes_all_of_the_module_so(lower: Fixture) -> None:
    lowered = lower(
        """
        func.func @fixed() attributes {gpu.kernel, kernel.local_size = array<i32: 8>} { func.return }
        func.func @free() attributes {gpu.kernel} { func.return }"""
    )
    assert [k.abi.local_size_spec_ids for k in lowered.kernels] == [(0, 1, 2), (0, 1, 2)]
    assert [k.required_work_group_size for k in lowered.kernels] == [(8,), None]


def test_metadata_of_the_function(lower: Fixture) -> None:
    lowered = lower(
        """
        func.func @"pkg.mod.k"() attributes {gpu.kernel, aspect.used = [6 : i32, -3 : i32, 1 : i32],
            aspect.declared = [5 : i32], aspect.reqd_sub_group_size = 16 : i32} {
          func.return
        } loc("mod.py":12:1)"""
    )
    info = lowered.info
    assert (info.name, info.entry_point) == ("pkg.mod.k", "pkg.mod.k")
    assert info.aspects == (1, 5, 6)
    assert info.required_sub_group_size == 16
    assert info.location == Location("mod.py", 12, 1, "pkg.mod.k")


def test_foreign_kernels(lower: Fixture) -> None:
    lowered = lower(
        """
        "gpu.module"() <{sym_name = "m"}> ({
          "gpu.func"() <{function_type = (memref<?xi32>, i32, index, f32) -> (), kernel}> ({
          ^bb0(%x : memref<?xi32>, %a : i32, %b : index, %unused : f32):
            %i = "gpu.global_id"() <{dimension = #gpu<dim y>}> : () -> index
            %c = arith.index_cast %b : index to i32
            %d = arith.addi %a, %c : i32
            memref.store %d, %x[%i] : memref<?xi32>
            "gpu.return"() : () -> ()
          }) {sym_name = "foreign"} : () -> ()
        }) : () -> ()"""
    )
    assert [(p.name, p.dtype) for p in lowered.info.parameters] == [
        ("arg0", "i32"),
        ("arg1", "i32"),
        ("arg2", "i32"),
        ("arg3", "f32"),
    ]
    assert lowered.info.abi.rank == 2, "the highest dimension that it names"
    assert lowered.info.parameters[0].access == "read_write"


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("%x : memref<f32>", "array parameters have 1 to 8 dimensions"),
        ("%x : memref<?xi1>", "arrays of bool are arrays of i8"),
        ("%x : memref<?xi24>", "integers have 1, 8, 16, 32 or 64 bits"),
        ("%x : memref<?xvector<3xf32>>", "vectors or structs with a layout, found memref<.xvector<3xf32>>"),
        ("%x : memref<?xvector<2xf32>>, %y : i128", "expected an array or a scalar, found i128"),
        ("%x : i128", "expected an array or a scalar"),
        ("%x : memref<4x5000000000xi32>", "an extent has 31 bits"),
    ],
)
def test_parameters_that_no_device_has(lower: Fixture, kernel: Fixture, signature: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        lower(kernel("", signature))

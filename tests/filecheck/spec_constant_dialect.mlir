// RUN:
// RUN[GENERIC]: --print-op-generic

// CHECK: spec_constant.declare @pkg.mod.COEFF : !spirv.array<2 x !spirv.array<2 x f32>> = [0.000000e+00 : f32, 1.000000e+00 : f32, 2.000000e+00 : f32, 3.000000e+00 : f32] {short_name = "COEFF", lapilli_type = "FixedArray[f32, 2, 2]"}
// CHECK-NEXT: spec_constant.declare @flag : i1 = [true]
// CHECK-NEXT: spec_constant.declare @lanes : vector<2xi16> = [-1 : i16, 7 : i16]
// CHECK-NEXT: spec_constant.declare @pair : !spirv.struct<Pair, (i32, f64)> = [1 : i32, 2.000000e+00 : f64]
// GENERIC: "spec_constant.declare"() <{sym_name = "pkg.mod.COEFF", const_type = !spirv.array<2 x !spirv.array<2 x f32>>, default = [
// GENERIC: "spec_constant.get"() <{constant = @pkg.mod.COEFF}> : () -> !spirv.array<2 x !spirv.array<2 x f32>>
spec_constant.declare @pkg.mod.COEFF : !spirv.array<2 x !spirv.array<2 x f32>>
    = [0.0 : f32, 1.0 : f32, 2.0 : f32, 3.0 : f32] {short_name = "COEFF", lapilli_type = "FixedArray[f32, 2, 2]"}
"spec_constant.declare"() {sym_name = "flag", const_type = i1, default = [true]} : () -> ()
spec_constant.declare @lanes : vector<2xi16> = [-1 : i16, 7 : i16]
spec_constant.declare @pair : !spirv.struct<Pair, (i32, f64)> = [1 : i32, 2.0 : f64]

// CHECK: func.func @k
// CHECK-NEXT: %0 = spec_constant.get @pkg.mod.COEFF : !spirv.array<2 x !spirv.array<2 x f32>>
// CHECK-NEXT: %1 = spec_constant.get @flag : i1
func.func @k() attributes {gpu.kernel} {
  %0 = spec_constant.get @pkg.mod.COEFF : !spirv.array<2 x !spirv.array<2 x f32>>
  %1 = "spec_constant.get"() {constant = @flag} : () -> i1
  func.return
}

// A gpu.module sees the constants around it.
// CHECK: gpu.module
// CHECK: spec_constant.get @flag : i1
"gpu.module"() <{sym_name = "m"}> ({
  "gpu.func"() <{function_type = () -> (), kernel}> ({
    %0 = spec_constant.get @flag : i1
    "gpu.return"() : () -> ()
  }) {sym_name = "inner"} : () -> ()
}) : () -> ()

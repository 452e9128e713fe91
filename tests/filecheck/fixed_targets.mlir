// RUN: -p propagate-aspects
// RUN[GIVEN]: -p 'propagate-aspects{fixed-targets=vk_swiftshader,vk_llvmpipe}'

// Kernels and exported functions always get the attribute (ASP-17, FT-05, FT-06).

// CHECK: func.func @k() attributes {gpu.kernel, aspect.fixed_targets = []}
// GIVEN: func.func @k() attributes {gpu.kernel, aspect.fixed_targets = ["vk_swiftshader", "vk_llvmpipe"]}
func.func @k() attributes {gpu.kernel} {
  func.return
}
// CHECK: func.func @exported() attributes {aspect.external, aspect.fixed_targets = []}
// GIVEN: func.func @exported() attributes {aspect.external, aspect.fixed_targets = ["vk_swiftshader", "vk_llvmpipe"]}
func.func @exported() attributes {aspect.external} {
  func.return
}
// A unit compiled with its own list keeps it.
// CHECK: func.func @own() attributes {gpu.kernel, aspect.fixed_targets = ["x"]}
// GIVEN: func.func @own() attributes {gpu.kernel, aspect.fixed_targets = ["x"]}
func.func @own() attributes {gpu.kernel, aspect.fixed_targets = ["x"]} {
  func.return
}
// CHECK: func.func private @helper() {
// GIVEN: func.func private @helper() {
func.func private @helper() {
  func.return
}

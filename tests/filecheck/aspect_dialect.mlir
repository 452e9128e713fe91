// RUN:
// RUN[GENERIC]: --print-op-generic

// All attributes of the dialect, at their places (ASP-07, ASP-09, ASP-10, FT-05).

// CHECK: builtin.module attributes {aspect.types_that_use_aspects = {Amx = [9 : i32], Both = [5 : i32, 6 : i32]}, aspect.aspect_values = {fp16 = 5 : i32, fp64 = 6 : i32}, aspect.requirements = {aspect = array<i32: 1, 6>, reqd_work_group_size = [array<i32: 64, 4>], reqd_sub_group_size = array<i32: 16>, fixed_target = ["a"]}}
builtin.module attributes {
    aspect.types_that_use_aspects = {Amx = [9 : i32], Both = [5 : i32, 6 : i32]},
    aspect.aspect_values = {fp16 = 5 : i32, fp64 = 6 : i32},
    aspect.requirements = {aspect = array<i32: 1, 6>, reqd_work_group_size = [array<i32: 64, 4>],
        reqd_sub_group_size = array<i32: 16>, fixed_target = ["a"]}} {
  // CHECK: func.func @k() attributes {gpu.kernel, aspect.declared = [], aspect.used = [5 : i32, -1 : i32], aspect.fixed_targets = ["a", "b"], aspect.reqd_work_group_size = array<i32: 64, 4>, aspect.reqd_sub_group_size = 16 : i32, aspect.external, aspect.unit = "pkg.mod"}
  // CHECK-NEXT: "test.op"() {aspect.used = [28 : i32]} : () -> ()
  // GENERIC: "test.op"() {aspect.used = [28 : i32]} : () -> ()
  func.func @k() attributes {gpu.kernel, aspect.declared = [], aspect.used = [5 : i32, -1 : i32],
      aspect.fixed_targets = ["a", "b"], aspect.reqd_work_group_size = array<i32: 64, 4>,
      aspect.reqd_sub_group_size = 16 : i32, aspect.external, aspect.unit = "pkg.mod"} {
    "test.op"() {aspect.used = [28 : i32]} : () -> ()
    func.return
  }
  // CHECK: aspect.reqd_work_group_size = [4294967296 : i64], aspect.reqd_sub_group_size = "automatic"
  func.func @large() attributes {gpu.kernel, aspect.reqd_work_group_size = [4294967296 : i64],
      aspect.reqd_sub_group_size = "automatic"} {
    func.return
  }
}

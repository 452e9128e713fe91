// RUN: -p 'split-modules{mode=per_kernel},compute-requirements'
// RUN[WHOLE]: -p compute-requirements

// One set per image; internal aspects and named sub-group sizes never appear (REQ-02 to REQ-07, TPH-08).

// CHECK: builtin.module {
// CHECK-NEXT: builtin.module attributes {aspect.requirements = {aspect = array<i32: 1, 6>, reqd_work_group_size = [array<i32: 64, 4>], reqd_sub_group_size = array<i32: 32>}}
// CHECK: builtin.module attributes {aspect.requirements = {reqd_work_group_size = [array<i64: 4294967296>]}}
// CHECK: builtin.module attributes {aspect.requirements = {fixed_target = ["a", "b"]}}
// CHECK: builtin.module attributes {aspect.requirements = {}}
// WHOLE: builtin.module attributes {aspect.requirements = {fixed_target = ["a", "b"]}}
func.func @full() attributes {gpu.kernel, aspect.used = [6 : i32, -1 : i32], aspect.declared = [1 : i32],
    aspect.reqd_work_group_size = array<i32: 64, 4>, aspect.reqd_sub_group_size = 32 : i32} {
  func.return
}
func.func @large() attributes {gpu.kernel, aspect.reqd_work_group_size = array<i64: 4294967296>,
    aspect.reqd_sub_group_size = "primary"} {
  func.return
}
func.func @fixed() attributes {gpu.kernel, aspect.used = [6 : i32], aspect.fixed_targets = ["b", "a"]} {
  func.return
}
func.func @plain() attributes {gpu.kernel, aspect.used = [-1 : i32], aspect.fixed_targets = []} {
  func.return
}

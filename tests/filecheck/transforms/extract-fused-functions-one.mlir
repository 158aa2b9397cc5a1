// RUN: xdsl-opt -p extract-fused-functions %s | filecheck %s
// RUN: xdsl-opt -p extract-fused-functions,extract-fused-functions %s | filecheck %s

// Of a program with one kernel, its function is all of the module, and no program in which there is nothing to fuse.
// CHECK:      builtin.module {
// CHECK-NEXT: func.func @fused_exp(%p0: tensor<2xf32>) -> tensor<2xf32> attributes {Primitive = 1 : i32} {
// CHECK-NEXT:   [[E:%.*]] = relay.exp %p0
// CHECK-NEXT:   func.return [[E]]
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

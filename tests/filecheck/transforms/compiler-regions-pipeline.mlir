// RUN: xdsl-opt -p fuse-ops,merge-compiler-regions %s | filecheck %s
// RUN: xdsl-opt -p canonicalize,fuse-ops,merge-compiler-regions,reconcile-unrealized-casts %s | filecheck %s

// Annotations stay outside of kernels, so that regions merge after fusion too. Operations that nobody
// knows keep their place.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %0 = relay.exp %b0 : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.nn.relu %0 : (tensor<8xf32>) -> tensor<8xf32>
  %e0 = relay.annotation.compiler_end %1 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %b1 = relay.annotation.compiler_begin %e0 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.log %b1 : (tensor<8xf32>) -> tensor<8xf32>
  %e1 = relay.annotation.compiler_end %2 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "test.op"(%e1) : (tensor<8xf32>) -> tensor<8xf32>
  %b2 = relay.annotation.compiler_begin %3 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %b3 = relay.annotation.compiler_begin %e0 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.add %b2, %b3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e2 = relay.annotation.compiler_end %4 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  func.return %e2 : tensor<8xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %b1 = relay.fused %b0 : (tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     ^bb0(%p0: tensor<8xf32>):
// CHECK-NEXT:       %0 = relay.exp %p0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       %1 = relay.nn.relu %0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       relay.yield %1 : tensor<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %e0 = relay.annotation.compiler_end %b1 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %0 = relay.fused %b1 : (tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     ^bb0(%p0: tensor<8xf32>):
// CHECK-NEXT:       %1 = relay.log %p0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       relay.yield %1 : tensor<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %e1 = relay.annotation.compiler_end %0 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = "test.op"(%e1) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %b2 = relay.annotation.compiler_begin %1 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %b3 = relay.annotation.compiler_begin %e0 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = relay.fused %b2, %b3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     ^bb0(%p0: tensor<8xf32>, %p1: tensor<8xf32>):
// CHECK-NEXT:       %3 = relay.add %p0, %p1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:       relay.yield %3 : tensor<8xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %e2 = relay.annotation.compiler_end %2 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     func.return %e2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

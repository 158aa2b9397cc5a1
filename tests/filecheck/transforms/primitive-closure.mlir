// RUN: xrelay-opt -p fuse-ops %s | filecheck %s
// RUN: xrelay-opt -p fold-constant %s | filecheck %s
// RUN: xrelay-opt -p simplify-inference,simplify-expr,eliminate-common-subexpr %s | filecheck %s

// The body of a function that is primitive is a kernel's, also where the function is a value.
// CHECK-LABEL: func.func @main
// CHECK: relay.closure
// CHECK-NOT: relay.fused
// CHECK: relay.exp
// CHECK-NEXT: relay.exp
// CHECK-NEXT: relay.add
// CHECK-NEXT: relay.yield
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%p: tensor<2xf32>):
    %c = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = relay.exp %c : (tensor<2xf32>) -> tensor<2xf32>
    %1 = relay.exp %c : (tensor<2xf32>) -> tensor<2xf32>
    %2 = relay.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %2 : tensor<2xf32>
  }
  %r = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}

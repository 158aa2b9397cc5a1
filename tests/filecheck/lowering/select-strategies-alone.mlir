// RUN: xrelay-opt -p 'select-strategies{target=x86-64-v3}' %s | filecheck %s
// RUN: xrelay-opt -p 'select-strategies{target=x86-64-v3 function=main}' %s | filecheck %s

// An operator that gets loops is put into a `relay.fused`, to which equal operands are given once; others stay.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = relay.exp %x
// CHECK-NEXT: %1 = relay.fused %0 attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", rows = 4, vectors = 1, depth_parts = 1>]} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<4x4xf32>):
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[P]], [[P]]
// CHECK-NEXT: relay.yield [[D]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return %1
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = relay.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.nn.dense %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}

// RUN: xdsl-opt -p 'partial-eval,dead-code-elimination{inline-once=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'partial-eval{max-bytes=64},dead-code-elimination{inline-once=true}' %s | filecheck %s --check-prefix FEW
// RUN: not xrelay-opt -p 'partial-eval{limit=100}' %s 2>&1 | filecheck %s --check-prefix LIMIT

// Results larger than `max-bytes`, and than their operands, are not computed.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[C:%.*]] = relay.constant dense<{{4.4816.*}}> : tensor<4x8xf32>
// CHECK-NEXT: relay.add %x, [[C]]
// FEW-LABEL: func.func @main
// FEW-NEXT: [[C:%.*]] = relay.constant dense<{{4.4816.*}}> : tensor<8xf32>
// FEW-NEXT: [[B:%.*]] = relay.broadcast_to [[C]]
// FEW-NEXT: relay.add %x, [[B]]
// LIMIT: pass 'partial-eval': relay.broadcast_to %f: the constant that it gives has 128 bytes, the limit (max_bytes) is 100
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = relay.constant dense<1.5> : tensor<8xf32>
  %e = relay.exp %c : (tensor<8xf32>) -> tensor<8xf32>
  %f = relay.broadcast_to %e {shape = array<i64: 4, 8>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %y = relay.add %x, %f : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

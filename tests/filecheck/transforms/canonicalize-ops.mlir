// RUN: xdsl-opt -p canonicalize-ops %s | filecheck %s
// RUN: xdsl-opt -p canonicalize-ops,canonicalize-ops %s | filecheck %s

// CHECK-LABEL: func.func @channels
// CHECK-NEXT: [[B:%.*]] = relay.expand_dims %b {axis = 1 : i64, num_newaxis = 2 : i64} : (tensor<3xf32>) -> tensor<3x1x1xf32>
// CHECK-NEXT: [[S:%.*]] = relay.add %x, [[B]]
// CHECK-NEXT: func.return [[S]]
func.func @channels(%x: tensor<1x3x4x4xf32>, %b: tensor<3xf32>) -> tensor<1x3x4x4xf32> {
  %0 = relay.nn.bias_add %x, %b : (tensor<1x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// The bias of the last axis needs no new axes, and neither does that of a vector.
// CHECK-LABEL: func.func @last_axis
// CHECK-NEXT: relay.add %x, %b :
// CHECK-NEXT: relay.add %b, %b :
// CHECK-NEXT: func.return
func.func @last_axis(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {
  %0 = relay.nn.bias_add %x, %b {axis = -1 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = relay.nn.bias_add %b, %b {axis = 0 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @first_axis
// CHECK-NEXT: relay.expand_dims %b {axis = 1 : i64} :
// CHECK-NEXT: relay.add
func.func @first_axis(%x: tensor<3x?xi8>, %b: tensor<3xi8>) -> tensor<3x?xi8> {
  %0 = relay.nn.bias_add %x, %b {axis = 0 : i64} : (tensor<3x?xi8>, tensor<3xi8>) -> tensor<3x?xi8>
  return %0 : tensor<3x?xi8>
}

// As in Relay, bodies change as well.
// CHECK-LABEL: func.func @composite
// CHECK: relay.composite "a.bias"
// CHECK: relay.add
// CHECK-NEXT: relay.yield
func.func @composite(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.composite "a.bias" %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>, %q: tensor<3xf32>):
    %1 = relay.nn.bias_add %p, %q : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    relay.yield %1 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @keep_additions
// CHECK-NEXT: relay.add %x, %b :
// CHECK-NEXT: relay.multiply
// CHECK-NEXT: func.return
func.func @keep_additions(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.add %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = relay.multiply %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// A kernel for which everything is decided.
// CHECK-LABEL: func.func @keep_decided
// CHECK: relay.nn.bias_add
func.func @keep_decided(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.fused %x, %b attributes {strategies = [#relay.strategy<anchor 1 "relay.nn.softmax" by "three-pass">]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>, %q: tensor<3xf32>):
    %1 = relay.nn.bias_add %p, %q : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %2 = relay.nn.softmax %1 {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %2 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

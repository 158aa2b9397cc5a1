// RUN: xdsl-opt -p fast-math %s | filecheck %s
// RUN: xdsl-opt -p fast-math,fast-math %s | filecheck %s

// CHECK-LABEL: func.func @functions
// CHECK-NEXT: [[A:%.*]] = relay.fast_exp %x :
// CHECK-NEXT: [[B:%.*]] = relay.fast_erf [[A]] :
// CHECK-NEXT: [[C:%.*]] = relay.fast_tanh [[B]] :
// CHECK-NEXT: [[D:%.*]] = relay.nn.fast_softmax [[C]] {axis = 0 : i64} :
// CHECK-NEXT: [[E:%.*]] = relay.log [[D]] :
// CHECK-NEXT: func.return [[E]]
func.func @functions(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.erf %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.tanh %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = relay.nn.softmax %2 {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = relay.log %3 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @half
// CHECK: relay.composite "a.exp"
// CHECK: relay.fast_exp
func.func @half(%x: tensor<f16>) -> tensor<f16> {
  %0 = relay.composite "a.exp" %x : (tensor<f16>) -> tensor<f16> {
  ^bb0(%p: tensor<f16>):
    %1 = relay.exp %p : (tensor<f16>) -> tensor<f16>
    relay.yield %1 : tensor<f16>
  }
  return %0 : tensor<f16>
}

// CHECK-LABEL: func.func @keep_other_functions
// CHECK-NEXT: relay.nn.log_softmax
// CHECK-NEXT: relay.sigmoid
// CHECK-NEXT: relay.sinh
// CHECK-NEXT: func.return
func.func @keep_other_functions(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = relay.nn.log_softmax %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %1 = relay.sigmoid %0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %2 = relay.sinh %1 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %2 : tensor<2x3xf64>
}

// A kernel for which everything is decided.
// CHECK-LABEL: func.func @keep_decided
// CHECK: relay.nn.softmax
func.func @keep_decided(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.fused %x attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.softmax" by "three-pass">]} : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>):
    %1 = relay.nn.softmax %p {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %1 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

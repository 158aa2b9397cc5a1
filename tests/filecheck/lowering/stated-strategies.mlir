// RUN: xrelay-opt --split-input-file -p convert-relay-to-kernels{target=x86-64-v4} %s | filecheck %s

// Code is generated as a `relay.fused` states. Here the panels of the weights show it: one vector of 16
// where two would be usual.

// CHECK: packing = "matrix_panels<16, False>"
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
  %w = relay.constant dense<0.5> : tensor<32x64xf32>
  %0 = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", vectors = 1>]} : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32> {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<32x64xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
    relay.yield %1 : tensor<8x32xf32>
  }
  func.return %0 : tensor<8x32xf32>
}

// -----

// Another implementation than the best one: Winograd's algorithm for tiles of 2 x 2.
// CHECK: packing = "winograd_panels<2, 32>"
func.func @main(%x: tensor<1x4x28x28x16xf32>) -> tensor<1x4x28x28x16xf32> {
  %w = relay.constant dense<0.5> : tensor<64x64x3x3xf32>
  %0 = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.conv2d" by "winograd-2", vectors = 2>]} : (tensor<1x4x28x28x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x4x28x28x16xf32> {
  ^bb0(%a: tensor<1x4x28x28x16xf32>, %b: tensor<64x64x3x3xf32>):
    %1 = relay.nn.conv2d %a, %b {padding = array<i64: 1, 1>, data_layout = "NCHW16c"} : (tensor<1x4x28x28x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x4x28x28x16xf32>
    relay.yield %1 : tensor<1x4x28x28x16xf32>
  }
  func.return %0 : tensor<1x4x28x28x16xf32>
}

// -----

// Two products alike that are computed in two ways have two kernels, and their results are kept in memory
// where they are no anchor.
// CHECK-LABEL: func.func private @fused_nn_dense_nn_relu(
// CHECK-LABEL: func.func private @fused_nn_dense_nn_relu_1(
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x16xf32>) -> tensor<4x16xf32> {
  %0 = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels">]} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x16xf32>, %b: tensor<16x16xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  %3 = relay.fused %0, %w attributes {strategies = [#relay.strategy<operator 0 "relay.nn.dense" by "dot-products">]} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32> {
  ^bb1(%c: tensor<4x16xf32>, %d: tensor<16x16xf32>):
    %4 = relay.nn.dense %c, %d : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %5 = relay.nn.relu %4 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %5 : tensor<4x16xf32>
  }
  func.return %3 : tensor<4x16xf32>
}

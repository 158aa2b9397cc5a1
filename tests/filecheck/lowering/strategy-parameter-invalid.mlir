// RUN: xdsl-opt --parsing-diagnostics %s | filecheck %s

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", rows = true>]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    relay.yield %1 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: rows = true
// CHECK: Expected integer literal

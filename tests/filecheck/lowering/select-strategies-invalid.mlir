// RUN: xdsl-opt --split-input-file --verify-diagnostics -p select-strategies{target=x86-64-v4} %s | filecheck %s

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "fast">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'fast' cannot compute relay.nn.dense: its implementations are panels, tile-registers, dot-products, row-updates

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "row-updates">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'row-updates' cannot compute relay.nn.dense: right operand stored by columns

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", rows = 5>]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'panels' cannot compute relay.nn.dense: 'rows' is 5, expected 1 to 4

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", depth_parts = 3>]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'panels' cannot compute relay.nn.dense: 'depth_parts' is 3, expected a divisor of 2

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", columns = 4>]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'panels' cannot compute relay.nn.dense: 'columns' is none of its parameters, which are: rows, vectors, depth_parts

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = []} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'strategies' lacks one for relay.nn.dense

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels">, #relay.strategy<operator 1 "relay.nn.relu" by "loops">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: 'strategies' has an anchor that is not the last operator

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<operator 0 "relay.nn.dense" by "panels">, #relay.strategy<operator 1 "relay.nn.relu" by "loops">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: function 'main': relay.fused %y: 'loops' cannot compute relay.nn.relu: it has no loops of its own

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<16x4xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<16x4xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.transpose %1 : (tensor<4x16xf32>) -> tensor<16x4xf32>
    relay.yield %2 : tensor<16x4xf32>
  }
  func.return %y : tensor<16x4xf32>
}

// CHECK: function 'main': relay.fused %y: 'panels' cannot compute relay.nn.dense: what comes behind it cannot run on its registers, so it is no anchor

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 2 "relay.nn.dense" by "panels">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: 'strategies' has operator 2, the body has 2 operators

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 1 "relay.nn.dense" by "panels">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: 'strategies' says that operator 1 is relay.nn.dense, it is relay.nn.relu

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<operator 0 "relay.nn.dense" by "panels">, #relay.strategy<operator 0 "relay.nn.dense" by "panels">]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: 'strategies' has operator 0 behind operator 0, expected each once and in order

// -----

func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %y = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", rows = 1, rows = 2>]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %2 = relay.nn.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
    relay.yield %2 : tensor<4x16xf32>
  }
  func.return %y : tensor<4x16xf32>
}

// CHECK: parameter 'rows' is stated twice

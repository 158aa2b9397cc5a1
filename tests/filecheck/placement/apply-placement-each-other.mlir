// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/each-other.json"}' %s 2>&1 | filecheck %s

// Of a→c, a→d, b→c, b→d each of {a, d} and {b, c} may be a region, but not both.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %c = relay.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = relay.multiply %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = relay.subtract %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// CHECK: pass 'apply-placement': function @main: some regions of the plan need each other's results, expected an order in which they can run

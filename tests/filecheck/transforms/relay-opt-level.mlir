// RUN: xdsl-opt -p relay-opt-level-0 %s | filecheck %s --check-prefix ZERO
// RUN: xdsl-opt -p relay-opt-level-1 %s | filecheck %s --check-prefix ONE
// RUN: xdsl-opt -p relay-opt-level-2 %s | filecheck %s --check-prefix TWO
// RUN: xdsl-opt -p relay-opt-level-3 %s | filecheck %s --check-prefix THREE

// Level 0 has a kernel for each operator, level 1 fuses and drops @unused, level 2 computes the sum of constants, and
// level 3 makes of the second dense and its bias the first, and an addition of the bias, which gets the layout NC of the dense.
func.func @main(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %one = relay.constant dense<1.0> : tensor<1xf32>
  %two = relay.add %one, %one : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %3 = relay.nn.bias_add %2, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = relay.add %1, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = relay.add %4, %two : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  %6 = relay.nn.dropout %5 : (tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<2x4xf32>>
  %7 = relay.tuple_get_item %6[0] : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> tensor<2x4xf32>
  func.return %7 : tensor<2x4xf32>
}
func.func private @unused(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// ZERO:     func.func @main(
// ZERO:     relay.constant dense<1.000000e+00> : tensor<1xf32>
// ZERO:     relay.fused
// ZERO:     relay.add %p0, %p0
// ZERO:     relay.fused
// ZERO:     relay.nn.dense %p0, %p1
// ZERO:     relay.fused
// ZERO:     relay.nn.bias_add %p0, %p1
// ZERO:     relay.fused
// ZERO:     relay.nn.dense %p0, %p1
// ZERO:     relay.fused
// ZERO:     relay.nn.bias_add %p0, %p1
// ZERO:     relay.fused
// ZERO:     relay.add %p0, %p1
// ZERO:     relay.fused
// ZERO:     relay.add %p0, %p1
// ZERO:     func.func private @unused(

// ONE:     func.func @main(
// ONE:     relay.constant dense<1.000000e+00> : tensor<1xf32>
// ONE:     relay.fused
// ONE:     relay.nn.dense %p0, %p1
// ONE:     relay.nn.bias_add %1, %p2
// ONE:     relay.fused
// ONE:     relay.add %p4, %p4
// ONE:     relay.nn.dense %p0, %p1
// ONE:     relay.nn.bias_add %2, %p2
// ONE:     relay.add %3, %p3
// ONE:     relay.add %4, %two
// ONE:     relay.yield
// ONE-NOT: relay
// ONE-NOT: @unused

// TWO:     func.func @main(
// TWO:     relay.constant dense<2.000000e+00> : tensor<1xf32>
// TWO:     relay.fused
// TWO:     relay.nn.dense %p0, %p1
// TWO:     relay.nn.bias_add %1, %p2
// TWO:     relay.fused
// TWO:     relay.nn.dense %p0, %p1
// TWO:     relay.nn.bias_add %2, %p2
// TWO:     relay.add %3, %p3
// TWO:     relay.add %4, %p4
// TWO:     relay.yield
// TWO-NOT: relay
// TWO-NOT: @unused

// THREE:     func.func @main(
// THREE:     relay.constant dense<2.000000e+00> : tensor<1xf32>
// THREE:     relay.fused
// THREE:     relay.nn.dense %p0, %p1
// THREE:     relay.expand_dims %p2
// THREE:     relay.add %1, %2
// THREE:     relay.add %3, %3
// THREE:     relay.add %4, %p3
// THREE:     relay.yield
// THREE-NOT: relay
// THREE-NOT: @unused

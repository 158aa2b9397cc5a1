// RUN: xdsl-opt -p fuse-ops %s | filecheck %s

// What does not fuse: for each guard of the rules a function in which it holds, named by the rule
// that refuses.

// Rule 3: a result that is also returned.
func.func @keep_returned(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_returned(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]], %[[F1]] :
// CHECK-NEXT: }

// Rule 3: a value that goes into a cell.
func.func @keep_cell(%x: tensor<4x8xf32>) -> (!relay.ref<tensor<4x8xf32>>, tensor<4x8xf32>) {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %cell = relay.ref_create %0 : (tensor<4x8xf32>) -> !relay.ref<tensor<4x8xf32>>
  %1 = relay.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %cell, %1 : !relay.ref<tensor<4x8xf32>>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_cell(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[CELL:\w+]] = relay.ref_create %[[F0]] :
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[CELL]], %[[F1]] :
// CHECK-NEXT: }

// Rule 4: a constant that is no scalar is a parameter.
func.func @keep_large_constant(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %row = relay.constant dense<1.000000e+00> : tensor<8xf32>
  %0 = relay.add %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_large_constant(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[ROW:\w+]] = relay.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[ROW]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Rule 4: so is a scalar of a type other than i1, i32, i64, f32 and f64.
func.func @keep_half_constant(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %one = relay.constant dense<1.000000e+00> : tensor<f16>
  %0 = relay.add %x, %one : (tensor<4x8xf16>, tensor<f16>) -> tensor<4x8xf16>
  func.return %0 : tensor<4x8xf16>
}

// CHECK-LABEL: func.func @keep_half_constant(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf16>)
// CHECK-NEXT:   %[[ONE:\w+]] = relay.constant dense<1.000000e+00> : tensor<f16>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[ONE]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf16>, %p1: tensor<f16>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Rule 13: so is a scalar that unrelated operators share.
func.func @keep_shared_constant(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %two = relay.constant dense<2.000000e+00> : tensor<f32>
  %0 = relay.add %x, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = relay.multiply %x, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_shared_constant(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[TWO:\w+]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[TWO]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]], %[[TWO]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.multiply %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]], %[[F1]] :
// CHECK-NEXT: }

// Rule 6: an opaque operator is a function of its own.
func.func @keep_opaque(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %0 = relay.exp %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.nn.lrn %0 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %2 = relay.exp %1 : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  func.return %2 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_opaque(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.lrn %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F2]] :
// CHECK-NEXT: }

// Rule 12: a result that nothing uses. Nothing is dropped.
func.func @keep_result_without_users(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_result_without_users(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 13: users that do not come together again.
func.func @keep_two_ends(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.sigmoid %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_two_ends(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.sigmoid %p0 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]], %[[F2]] :
// CHECK-NEXT: }

// Rules 7 and 21: a convolution whose result is broadcast to a larger shape.
func.func @keep_broadcast_up(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>, %y: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.add %0, %y : (tensor<1x8x4x4xf32>, tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  func.return %1 : tensor<2x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_broadcast_up(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>, %[[Y:\w+]]: tensor<2x8x4x4xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]], %[[Y]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<2x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.add %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 20: a convolution that is the field of a tuple.
func.func @keep_complex_in_tuple(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.tuple %0, %x : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tuple<tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>>
  %2 = relay.concatenate %1 {axis = 1 : i64} : (tuple<tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>>) -> tensor<1x16x4x4xf32>
  func.return %2 : tensor<1x16x4x4xf32>
}

// CHECK-LABEL: func.func @keep_complex_in_tuple(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]], %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.tuple %p0, %p1 :
// CHECK-NEXT:     %[[V2:\w+]] = relay.concatenate %[[V1]]
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 21: an injective operator after a convolution.
func.func @keep_complex_before_injective(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x4x4x8xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.transpose %0 {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x8xf32>
  func.return %1 : tensor<1x4x4x8xf32>
}

// CHECK-LABEL: func.func @keep_complex_before_injective(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.transpose %p0
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 21: one on one of two paths.
func.func @keep_injective_beside(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.transpose %0 {axes = array<i64: 0, 1, 3, 2>} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %2 = relay.add %0, %1 : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  func.return %2 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_injective_beside(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.transpose %p0
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %p0, %[[V1]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 21: of two convolutions that an add joins, the first in program order takes it.
func.func @keep_second_complex(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %2 = relay.add %0, %1 : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  func.return %2 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_second_complex(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]], %[[W]], %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>, %p2: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %[[V1]], %p2 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 22: an elementwise operator before a convolution.
func.func @keep_elementwise_before_complex(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %0 = relay.exp %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  func.return %1 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_elementwise_before_complex(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]], %[[W]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 22: a softmax on one of two paths.
func.func @keep_complex_beside(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.nn.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_complex_beside(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.softmax %p0 :
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %p0, %[[V1]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 22: on the way an operator that a convolution, earlier in the program, has taken.
func.func @keep_group_on_the_way(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  %1 = relay.exp %x : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %2 = relay.add %0, %1 : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %3 = relay.add %2, %1 : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  func.return %3 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_group_on_the_way(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[W:\w+]]: tensor<8x8x1x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]], %[[W]], %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8x8x1x1xf32>, %p2: tensor<1x8x4x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.nn.conv2d %p0, %p1 :
// CHECK-NEXT:     %[[V2:\w+]] = relay.add %[[V1]], %p2 :
// CHECK-NEXT:     %[[V3:\w+]] = relay.add %[[V2]], %p2 :
// CHECK-NEXT:     relay.yield %[[V3]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 23: an injective operator before a reduction.
func.func @keep_injective_before_reduction(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = relay.transpose %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = relay.sum %0 {axis = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @keep_injective_before_reduction(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.transpose %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<8x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.sum %p0
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 23: before an elementwise one that a reduction has taken.
func.func @keep_injective_before_reduced_chain(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = relay.transpose %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = relay.exp %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = relay.sum %1 {axis = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @keep_injective_before_reduced_chain(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.transpose %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<8x4xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     %[[V2:\w+]] = relay.sum %[[V1]]
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 24: nothing follows a reduction.
func.func @keep_after_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = relay.sum %x {axis = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %1 = relay.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @keep_after_reduction(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.sum %p0
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 25: what feeds a tuple that is returned.
func.func @keep_tuple_root(%x: tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<8x4xf32>> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.transpose %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = relay.tuple %0, %1 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tuple<tensor<4x8xf32>, tensor<8x4xf32>>
  func.return %2 : tuple<tensor<4x8xf32>, tensor<8x4xf32>>
}

// CHECK-LABEL: func.func @keep_tuple_root(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.transpose %p0 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V2:\w+]] = relay.tuple %[[F0]], %[[F1]] :
// CHECK-NEXT:   func.return %[[V2]] :
// CHECK-NEXT: }

// Rules 3, 8 and 9: a tuple in a tuple, and the projections out of that one.
func.func @keep_nested_tuple(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tuple %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
  %2 = relay.tuple %1, %x : (tuple<tensor<4x8xf32>, tensor<4x8xf32>>, tensor<4x8xf32>) -> tuple<tuple<tensor<4x8xf32>, tensor<4x8xf32>>, tensor<4x8xf32>>
  %3 = relay.tuple_get_item %2[1] : (tuple<tuple<tensor<4x8xf32>, tensor<4x8xf32>>, tensor<4x8xf32>>) -> tensor<4x8xf32>
  %4 = relay.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_nested_tuple(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V1:\w+]] = relay.tuple %[[X]], %[[F0]] :
// CHECK-NEXT:   %[[V2:\w+]] = relay.tuple %[[V1]], %[[X]] :
// CHECK-NEXT:   %[[V3:\w+]] = relay.tuple_get_item %[[V2]][1] :
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[V3]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V4:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V4]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

// Rule 32: the projection out of a tuple that a complex operator computes.
func.func @keep_projection(%x: tensor<1x8x4x4xf32>, %c: tensor<8xf32>) -> tensor<1x8x4x4xf32> {
  %0 = relay.nn.batch_norm %x, %c, %c, %c, %c : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>>) -> tensor<1x8x4x4xf32>
  func.return %1 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_projection(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8x4x4xf32>, %[[C:\w+]]: tensor<8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[C]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8x4x4xf32>, %p1: tensor<8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.nn.batch_norm %p0, %p1, %p1, %p1, %p1 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V1:\w+]] = relay.tuple_get_item %[[F0]][0] :
// CHECK-NEXT:   func.return %[[V1]] :
// CHECK-NEXT: }

// Rule 6: an operator whose result shape depends on data.
func.func @keep_data_dependent(%x: tensor<1x8xf32>) -> tensor<?x8xf32> {
  %0 = relay.exp %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = relay.broadcast_to %0 {shape = array<i64: 4, 8>} : (tensor<1x8xf32>) -> tensor<?x8xf32>
  %2 = relay.tanh %1 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %2 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @keep_data_dependent(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8xf32>):
// CHECK-NEXT:     %[[V1:\w+]] = relay.broadcast_to %p0
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F2:\w+]] = relay.fused %[[F1]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<?x8xf32>):
// CHECK-NEXT:     %[[V2:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F2]] :
// CHECK-NEXT: }

// The same one with a static result, where it fuses.
func.func @static(%x: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = relay.broadcast_to %0 {shape = array<i64: 4, 8>} : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %2 = relay.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @static(
// CHECK-SAME:  %[[X:\w+]]: tensor<1x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<1x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.broadcast_to %[[V0]]
// CHECK-NEXT:     %[[V2:\w+]] = relay.tanh %[[V1]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// RUN: xdsl-opt -p 'fuse-ops{max-depth=3}' %s | filecheck %s

// Constants count: with room for three nodes the second one stays outside, as a parameter.

func.func @keep_second_constant(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %two = relay.constant dense<2.000000e+00> : tensor<f32>
  %0 = relay.multiply %x, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %two_1 = relay.constant dense<2.000000e+00> : tensor<f32>
  %1 = relay.multiply %0, %two_1 : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_second_constant(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[TWO:\w+]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]], %[[TWO]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<f32>):
// CHECK-NEXT:     %[[TWO_2:\w+]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.multiply %p0, %[[TWO_2]] :
// CHECK-NEXT:     %[[V1:\w+]] = relay.multiply %[[V0]], %p1 :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

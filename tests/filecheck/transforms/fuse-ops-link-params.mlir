// RUN: xdsl-opt -p 'fuse-ops{link-params=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-ops{link-params=true rules=extended}' %s | filecheck %s --check-prefix COPIES

// With `link-params` constants of all shapes are inside of the functions that use them.

// Scenario 16: the indices are inside.
func.func @take(%x: tensor<10x1xf32>) -> tensor<1x1xf32> {
  %0 = relay.tuple %x, %x : (tensor<10x1xf32>, tensor<10x1xf32>) -> tuple<tensor<10x1xf32>, tensor<10x1xf32>>
  %1 = relay.concatenate %0 : (tuple<tensor<10x1xf32>, tensor<10x1xf32>>) -> tensor<20x1xf32>
  %indices = relay.constant dense<0> : tensor<1xi64>
  %2 = relay.take %1, %indices {axis = 0 : i64} : (tensor<20x1xf32>, tensor<1xi64>) -> tensor<1x1xf32>
  func.return %2 : tensor<1x1xf32>
}

// CHECK-LABEL: func.func @take(
// CHECK-SAME:  %[[X:\w+]]: tensor<10x1xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<10x1xf32>):
// CHECK-NEXT:     %[[INDICES:\w+]] = relay.constant dense<0> : tensor<1xi64>
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple %p0, %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.concatenate %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.take %[[V1]], %[[INDICES]]
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// Scenario 17: the indices are inside.
func.func @gather_nd(%x: tensor<2x2xf32>) -> tensor<1xf32> {
  %0 = relay.tuple %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tuple<tensor<2x2xf32>, tensor<2x2xf32>>
  %1 = relay.concatenate %0 : (tuple<tensor<2x2xf32>, tensor<2x2xf32>>) -> tensor<4x2xf32>
  %indices = relay.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %2 = relay.gather_nd %1, %indices : (tensor<4x2xf32>, tensor<2x1xi64>) -> tensor<1xf32>
  func.return %2 : tensor<1xf32>
}

// CHECK-LABEL: func.func @gather_nd(
// CHECK-SAME:  %[[X:\w+]]: tensor<2x2xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<2x2xf32>):
// CHECK-NEXT:     %[[INDICES:\w+]] = relay.constant dense<[[0], [1]]> : tensor<2x1xi64>
// CHECK-NEXT:     %[[V0:\w+]] = relay.tuple %p0, %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.concatenate %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.gather_nd %[[V1]], %[[INDICES]] :
// CHECK-NEXT:     relay.yield %[[V2]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]] :
// CHECK-NEXT: }

// A constant that two groups use is in both; one that is returned stays as well.
func.func @shared(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) {
  %row = relay.constant dense<2.000000e+00> : tensor<8xf32>
  %0 = relay.add %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = relay.multiply %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %0, %1, %row : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @shared(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[ROW:\w+]] = relay.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[ROW_2:\w+]] = relay.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %[[V0:\w+]] = relay.add %p0, %[[ROW_2]] :
// CHECK-NEXT:     relay.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[ROW_3:\w+]] = relay.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %[[V1:\w+]] = relay.multiply %p0, %[[ROW_3]] :
// CHECK-NEXT:     relay.yield %[[V1]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F0]], %[[F1]], %[[ROW]] :
// CHECK-NEXT: }

// A constant goes with the last operation that used it, which groups compute again.
func.func @copied(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %c = relay.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = relay.add %x, %c : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = relay.sum %0 {axis = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = relay.max %0 {axis = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<8xf32>
}

// COPIES-LABEL: func.func @copied(
// COPIES-NEXT:    %[[S:\w+]] = relay.fused %x :
// COPIES-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// COPIES-NEXT:      %{{.*}} = relay.constant
// COPIES-NEXT:      %{{.*}} = relay.add %p0
// COPIES-NEXT:      %{{.*}} = relay.sum
// COPIES-NEXT:      relay.yield
// COPIES-NEXT:    }
// COPIES-NEXT:    %[[M:\w+]] = relay.fused %x :
// COPIES-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// COPIES-NEXT:      %{{.*}} = relay.constant
// COPIES-NEXT:      %{{.*}} = relay.add %p0
// COPIES-NEXT:      %{{.*}} = relay.max
// COPIES-NEXT:      relay.yield
// COPIES-NEXT:    }
// COPIES-NEXT:    func.return %[[S]], %[[M]] :

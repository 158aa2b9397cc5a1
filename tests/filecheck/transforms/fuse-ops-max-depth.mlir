// RUN: xdsl-opt -p 'fuse-ops{max-depth=10}' %s | filecheck %s

// No group has more than `max-depth` nodes.

// Scenario 15: twenty operators in two functions.
func.func @chain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = relay.exp %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = relay.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = relay.exp %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = relay.exp %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = relay.exp %6 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = relay.exp %7 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = relay.exp %8 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = relay.exp %9 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = relay.exp %10 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = relay.exp %11 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = relay.exp %12 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %14 = relay.exp %13 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %15 = relay.exp %14 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %16 = relay.exp %15 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %17 = relay.exp %16 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %18 = relay.exp %17 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %19 = relay.exp %18 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %19 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @chain(
// CHECK-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// CHECK-NEXT:   %[[F0:\w+]] = relay.fused %[[X]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V0:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     %[[V1:\w+]] = relay.exp %[[V0]] :
// CHECK-NEXT:     %[[V2:\w+]] = relay.exp %[[V1]] :
// CHECK-NEXT:     %[[V3:\w+]] = relay.exp %[[V2]] :
// CHECK-NEXT:     %[[V4:\w+]] = relay.exp %[[V3]] :
// CHECK-NEXT:     %[[V5:\w+]] = relay.exp %[[V4]] :
// CHECK-NEXT:     %[[V6:\w+]] = relay.exp %[[V5]] :
// CHECK-NEXT:     %[[V7:\w+]] = relay.exp %[[V6]] :
// CHECK-NEXT:     %[[V8:\w+]] = relay.exp %[[V7]] :
// CHECK-NEXT:     %[[V9:\w+]] = relay.exp %[[V8]] :
// CHECK-NEXT:     relay.yield %[[V9]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[F1:\w+]] = relay.fused %[[F0]] :
// CHECK-NEXT:   ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:     %[[V10:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     %[[V11:\w+]] = relay.exp %[[V10]] :
// CHECK-NEXT:     %[[V12:\w+]] = relay.exp %[[V11]] :
// CHECK-NEXT:     %[[V13:\w+]] = relay.exp %[[V12]] :
// CHECK-NEXT:     %[[V14:\w+]] = relay.exp %[[V13]] :
// CHECK-NEXT:     %[[V15:\w+]] = relay.exp %[[V14]] :
// CHECK-NEXT:     %[[V16:\w+]] = relay.exp %[[V15]] :
// CHECK-NEXT:     %[[V17:\w+]] = relay.exp %[[V16]] :
// CHECK-NEXT:     %[[V18:\w+]] = relay.exp %[[V17]] :
// CHECK-NEXT:     %[[V19:\w+]] = relay.exp %[[V18]] :
// CHECK-NEXT:     relay.yield %[[V19]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F1]] :
// CHECK-NEXT: }

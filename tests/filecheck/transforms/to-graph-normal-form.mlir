// RUN: xdsl-opt -p to-graph-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-graph-normal-form,to-graph-normal-form %s | filecheck %s

func.func @main(%x: tensor<2xf32>, %p: i1) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %b = relay.let %a : (tensor<2xf32>) -> tensor<2xf32>
  %unused = relay.let %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %p -> (tensor<2xf32>) {
    %c = relay.let %b : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %c : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  %2 = relay.add %b, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME:  %[[X:\w+]]: tensor<2xf32>, %[[P:\w+]]: i1)
// CHECK-NEXT:   %[[V0:\w+]] = relay.exp %[[X]] :
// CHECK-NEXT:   %[[V1:\w+]] = scf.if %[[P]] -> (tensor<2xf32>) {
// CHECK-NEXT:     scf.yield %[[V0]] :
// CHECK-NEXT:   } else {
// CHECK-NEXT:     scf.yield %[[V0]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[V2:\w+]] = relay.add %[[V0]], %[[V1]] :
// CHECK-NEXT:   func.return %[[V2]] :

// The text of a recursive function needs the name.
func.func @keep_recursion(%x: tensor<i1>) -> tensor<i1> {
  %0 = relay.closure attributes {recursive} : !relay.fn<(tensor<i1>) -> tensor<i1>> {
  ^bb0(%self: !relay.fn<(tensor<i1>) -> tensor<i1>>, %b: tensor<i1>):
    %1 = relay.apply %self(%b) : (!relay.fn<(tensor<i1>) -> tensor<i1>>, tensor<i1>) -> tensor<i1>
    relay.yield %1 : tensor<i1>
  }
  %f = relay.let %0 : (!relay.fn<(tensor<i1>) -> tensor<i1>>) -> !relay.fn<(tensor<i1>) -> tensor<i1>>
  %2 = relay.apply %f(%x) : (!relay.fn<(tensor<i1>) -> tensor<i1>>, tensor<i1>) -> tensor<i1>
  func.return %2 : tensor<i1>
}

// CHECK-LABEL: func.func @keep_recursion(
// CHECK:         %[[F:\w+]] = relay.let
// CHECK-NEXT:    relay.apply %[[F]]

// RUN: xdsl-opt -p 'apply-fusion-plan{multi-output=true}' %s | filecheck %s

// Attributes say what fuses; operators without one stay as they are.
func.func @marked(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.exp %x {relay.fusion_group = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.tanh %0 {relay.fusion_group = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.nn.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @marked(
// CHECK-NEXT:   %[[F:\w+]] = relay.fused %{{.*}} :
// CHECK-NEXT:   ^bb0(%p0: tensor<4xf32>):
// CHECK-NEXT:     %[[E:\w+]] = relay.exp %p0 : (tensor<4xf32>)
// CHECK-NEXT:     %[[T:\w+]] = relay.tanh %[[E]] : (tensor<4xf32>)
// CHECK-NEXT:     relay.yield %[[T]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[R:\w+]] = relay.nn.relu %[[F]] :
// CHECK-NEXT:   func.return %[[R]] :

// A group with two outputs yields a tuple; what stands between its members moves behind it.
func.func @outputs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.exp %x {relay.fusion_group = 1} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.sqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.tanh %x {relay.fusion_group = 1} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @outputs(
// CHECK-NEXT:   %[[F:\w+]] = relay.fused %{{.*}} : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
// CHECK-NEXT:   ^bb0(%p0: tensor<4xf32>):
// CHECK-NEXT:     %[[E:\w+]] = relay.exp %p0 :
// CHECK-NEXT:     %[[T:\w+]] = relay.tanh %p0 :
// CHECK-NEXT:     %[[P:\w+]] = relay.tuple %[[E]], %[[T]] :
// CHECK-NEXT:     relay.yield %[[P]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[I0:\w+]] = relay.tuple_get_item %[[F]][0] :
// CHECK-NEXT:   %[[I1:\w+]] = relay.tuple_get_item %[[F]][1] :
// CHECK-NEXT:   %[[S:\w+]] = relay.sqrt %[[I0]] :
// CHECK-NEXT:   %[[A:\w+]] = relay.add %[[S]], %[[I1]] :
// CHECK-NEXT:   func.return %[[A]] :

// Groups compute what they copy for themselves; nothing else uses it, so it goes.
func.func @copies(%x: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = relay.cast %x {dtype = f32, relay.fusion_copies = ["a", "b"]} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = relay.exp %0 {relay.fusion_group = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.tanh %0 {relay.fusion_group = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @copies(
// CHECK-NEXT:   %[[F:\w+]] = relay.fused %{{.*}} : (tensor<4xi8>) -> tensor<4xf32> {
// CHECK-NEXT:   ^bb0(%p0: tensor<4xi8>):
// CHECK-NEXT:     %[[C:\w+]] = relay.cast %p0 {dtype = f32} : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT:     %[[E:\w+]] = relay.exp %[[C]] :
// CHECK-NEXT:     relay.yield %[[E]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[G:\w+]] = relay.fused %{{.*}} : (tensor<4xi8>) -> tensor<4xf32> {
// CHECK-NEXT:   ^bb0(%p0: tensor<4xi8>):
// CHECK-NEXT:     %[[C2:\w+]] = relay.cast %p0 {dtype = f32} : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT:     %[[T:\w+]] = relay.tanh %[[C2]] :
// CHECK-NEXT:     relay.yield %[[T]] :
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %[[F]], %[[G]] :

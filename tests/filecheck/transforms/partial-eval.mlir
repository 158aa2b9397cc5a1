// RUN: xdsl-opt -p partial-eval %s | filecheck %s
// RUN: xdsl-opt -p partial-eval,partial-eval %s | filecheck %s

// A condition stands where something needs it, behind the names that are computed for that.
// CHECK-LABEL: func.func @condition
// CHECK-NEXT: relay.tanh %x
// CHECK-NEXT: [[T:%.*]] = relay.let
// CHECK-NEXT: tensor.extract %c[]
// CHECK-NEXT: scf.if
// CHECK-NEXT: relay.exp [[T]]
func.func @condition(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %taken = tensor.extract %c[] : tensor<i1>
  %0 = relay.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %taken -> (tensor<2xf32>) {
    %2 = relay.exp %0 : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// What a loop gives has names; the constant behind it stays there.
// CHECK-LABEL: func.func @loop
// CHECK-NEXT: tensor.extract %c[]
// CHECK-NEXT: [[G:%[^,]*]], [[R:%[^ ]*]] = scf.while
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: relay.let [[G]] : (i1) -> i1
// CHECK-NEXT: [[N:%.*]] = relay.let [[R]] :
// CHECK-NEXT: relay.constant dense<1.000000e+00>
// CHECK-NEXT: [[O:%.*]] = relay.let
// CHECK-NEXT: relay.add [[N]], [[O]]
func.func @loop(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %go = tensor.extract %c[] : tensor<i1>
  %0, %1 = scf.while (%a = %go, %b = %x) : (i1, tensor<2xf32>) -> (i1, tensor<2xf32>) {
    scf.condition(%a) %a, %b : i1, tensor<2xf32>
  } do {
  ^bb0(%a: i1, %b: tensor<2xf32>):
    %2 = relay.exp %b : (tensor<2xf32>) -> tensor<2xf32>
    %stop = arith.constant false
    scf.yield %stop, %2 : i1, tensor<2xf32>
  }
  %one = relay.constant dense<1.0> : tensor<f32>
  %3 = relay.add %1, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

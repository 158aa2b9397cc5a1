// RUN: xdsl-opt -p 'inline{calls=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'inline{calls=true},inline{calls=true}' %s | filecheck %s

// A function that calls one that calls itself becomes a part of its callers, and so does one that calls another compiler's.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: [[C:%.*]]: tensor<i1>, [[X:%.*]]: tensor<4xf32>)
// CHECK-NEXT: [[E:%.*]] = relay.exp [[X]]
// CHECK-NEXT: [[R:%.*]] = func.call @recursive([[C]], [[E]])
// CHECK-NEXT: [[F:%.*]] = func.call @foreign([[R]])
// CHECK-NEXT: return [[F]]
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @caller(%c, %x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK-NOT: @caller
func.func private @caller(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @recursive(%c, %0) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @foreign(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// Those that call themselves, through others or not, stay.
// CHECK-LABEL: func.func private @recursive(
// CHECK: func.call @even(
// CHECK: func.call @recursive(
func.func private @recursive(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %no = relay.logical_not %c : (tensor<i1>) -> tensor<i1>
  %n = tensor.extract %c[] : tensor<i1>
  %0 = scf.if %n -> (tensor<4xf32>) {
    %1 = func.call @even(%no, %x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    %2 = func.call @recursive(%no, %1) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @even(
// CHECK: func.call @odd(
func.func private @even(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %n = tensor.extract %c[] : tensor<i1>
  %0 = scf.if %n -> (tensor<4xf32>) {
    %1 = func.call @odd(%c, %x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @odd(
// CHECK: func.call @even(
func.func private @odd(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %no = relay.logical_not %c : (tensor<i1>) -> tensor<i1>
  %0 = func.call @even(%no, %x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @foreign(
func.func private @foreign(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "theirs"} {
  func.return %x : tensor<4xf32>
}

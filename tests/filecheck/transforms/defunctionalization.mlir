// RUN: xrelay-opt %s -p 'defunctionalization{entry-functions="main","keep_function_of_tensors"}' | filecheck %s

// Functions of tensors are called as before.
// CHECK-LABEL: func.func @keep_function_of_tensors
// CHECK-NEXT:    func.call @keep_called(%x)
// CHECK-LABEL: func.func private @keep_called
// CHECK-NEXT:    relay.tanh %x
func.func @keep_function_of_tensors(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @keep_called(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @keep_called(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// A primitive function, and one of a composite, are called like every other; what they are is said of their code.

// CHECK-LABEL: func.func @main
// CHECK-NOT:   relay.closure
// CHECK:       func.func private @code0(%p: tensor<2xf32>) -> tensor<2xf32> attributes {Primitive = 1 : i32} {
// CHECK-NEXT:    relay.exp %p
// CHECK:       func.func private @code1(%x: tensor<2xf32>, %q: tensor<2xf32>) -> tensor<2xf32> attributes {Composite = "dnn.add"} {
// CHECK-NEXT:    relay.add %x, %q
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%p: tensor<2xf32>):
    %e = relay.exp %p : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %e : tensor<2xf32>
  }
  %g = relay.closure attributes {Composite = "dnn.add"} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%q: tensor<2xf32>):
    %s = relay.add %x, %q : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %s : tensor<2xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.apply %g(%0) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// RUN: xdsl-opt --split-input-file --verify-diagnostics -p convert-relay-to-kernels{target=x86-64-v4} %s | filecheck %s

func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = relay.nn.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}

// CHECK: tensor<?x4xf32> has an unknown dimension; code needs static shapes

// -----

func.func @main(%x: tensor<2xi4>) -> tensor<2xi4> {
  %0 = relay.nn.relu %x : (tensor<2xi4>) -> tensor<2xi4>
  func.return %0 : tensor<2xi4>
}

// CHECK: element type i4 has no kernels; supported are i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64, f16, bf16, f32, f64

// -----

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK: arith.addf cannot be lowered: only operators of the relay dialect are

// -----

func.func private @callee(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @callee(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK: function 'main': func.call has no code: the function that it calls has no body here, or is for another compiler

// -----

func.func @main(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// CHECK: 'c' is i1, which is no tensor

// -----

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  "cf.br"()[^bb1] : () -> ()
^bb1:
  func.return %x : tensor<2xf32>
}

// CHECK: function 'main' cannot be lowered: it is not one block that ends in func.return

// -----

func.func @main(%x: tensor<2xf32>) -> !relay.ref<tensor<2xf32>> {
  %0 = relay.ref_create %x : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
  func.return %0 : !relay.ref<tensor<2xf32>>
}

// CHECK: 'output0' is a reference, which cannot leave the program

// -----

func.func @main(%x: tensor<2xf32> {onnx.name = "a"}, %y: tensor<2xf32> {onnx.name = "a"}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// CHECK: two inputs have the same name: a, a

// -----

func.func @first(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @second(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// CHECK: no function 'main'; the module has first, second

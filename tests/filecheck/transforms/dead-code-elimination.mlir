// RUN: xdsl-opt -p dead-code-elimination %s | filecheck %s
// RUN: xdsl-opt -p dead-code-elimination,dead-code-elimination %s | filecheck %s

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: func.return %x
func.func @chain(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %1 = relay.add %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %x : tensor<f32>
}

// CHECK-LABEL: func.func @foreign
// CHECK-NEXT: func.return
func.func @foreign(%x: i32) {
  %0 = arith.addi %x, %x : i32
  func.return
}

// CHECK-LABEL: func.func @fused
// CHECK-NEXT: func.return
func.func @fused(%x: tensor<f32>) {
  %0 = relay.fused %x : (tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<f32>):
    %1 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    relay.yield %1 : tensor<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @branches
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.yield %x
func.func @branches(%x: tensor<f32>, %p: i1) -> tensor<f32> {
  %0 = scf.if %p -> (tensor<f32>) {
    %1 = relay.exp %x : (tensor<f32>) -> tensor<f32>
    scf.yield %x : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @pure
func.func @pure(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @call_of_pure
// CHECK-NEXT: func.return
func.func @call_of_pure(%x: tensor<f32>) {
  %0 = func.call @pure(%x) : (tensor<f32>) -> tensor<f32>
  func.return
}

func.func @recursive(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @recursive(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// A call that would not end goes with what nothing uses.
// CHECK-LABEL: func.func @call_of_recursive
// CHECK-NEXT: func.return
func.func @call_of_recursive(%x: tensor<f32>) {
  %0 = func.call @recursive(%x) : (tensor<f32>) -> tensor<f32>
  func.return
}

func.func private @declared(tensor<f32>) -> tensor<f32>

// CHECK-LABEL: func.func @keep_call_of_declared
// CHECK-NEXT: func.call @declared
func.func @keep_call_of_declared(%x: tensor<f32>) {
  %0 = func.call @declared(%x) : (tensor<f32>) -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @keep_references
// CHECK-NEXT: relay.ref_create
// CHECK-NEXT: relay.ref_write
func.func @keep_references(%x: tensor<f32>) {
  %0 = relay.ref_create %x : (tensor<f32>) -> !relay.ref<tensor<f32>>
  %1 = relay.ref_write %0, %x : (!relay.ref<tensor<f32>>, tensor<f32>) -> tuple<>
  func.return
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK-NEXT: relay.exp
func.func @keep_function_of_a_compiler(%x: tensor<f32>) attributes {Compiler = "dnnl"} {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  func.return
}

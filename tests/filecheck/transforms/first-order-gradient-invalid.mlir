// RUN: xdsl-opt -p first-order-gradient --split-input-file --verify-diagnostics %s | filecheck %s

func.func @no_rule(%x: tensor<2xf32>) -> tensor<2xf32> {
  %root = relay.rsqrt %x : (tensor<2xf32>) -> tensor<2xf32>
  return %root : tensor<2xf32>
}
// CHECK: relay.rsqrt %root has no gradient

// -----

func.func @call(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32>
// CHECK: func.call has no gradient: its function calls itself, has no body here, or is for another compiler

// -----

func.func @branch(%x: tensor<2xf32>, %p: i1) -> tensor<2xf32> {
  %0 = scf.if %p -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
// CHECK: function @branch: parameter 1 is i1, expected a tensor or a tuple of tensors

// -----

func.func @branch(%x: tensor<2xf32>) -> tensor<2xf32> {
  %p = arith.constant true
  %0 = scf.if %p -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    %r = relay.ref_create %x : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
    %1 = relay.ref_read %r : (!relay.ref<tensor<2xf32>>) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
// CHECK: scf.if has no gradient: something in a branch has effects

// -----

// What a reference holds may depend on the parameter, though the reference was made of a constant.
func.func @reference(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.constant dense<4.0> : tensor<f32>
  %r = relay.ref_create %0 : (tensor<f32>) -> !relay.ref<tensor<f32>>
  %1 = relay.ref_write %r, %x : (!relay.ref<tensor<f32>>, tensor<f32>) -> tuple<>
  %2 = relay.ref_read %r : (!relay.ref<tensor<f32>>) -> tensor<f32>
  return %2 : tensor<f32>
}
// CHECK: relay.ref_read has no gradient

// -----

func.func @recursion(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.closure attributes {recursive} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%self: !relay.fn<(tensor<f32>) -> tensor<f32>>, %p: tensor<f32>):
    %0 = relay.apply %self(%p) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
    relay.yield %0 : tensor<f32>
  }
  %1 = relay.apply %f(%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
// CHECK: relay.apply has no gradient: its function is not known here, calls itself, or is for another compiler

// -----

func.func @polymorphic(%x: tensor<f32>) -> tensor<f32> attributes {relay.type_params = ["A"]} {
  return %x : tensor<f32>
}
// CHECK: function @polymorphic has type parameters, expected none

// -----

func.func @parameter(%r: tuple<tensor<f32>, !relay.ref<tensor<f32>>>) -> tensor<f32> {
  %0 = relay.tuple_get_item %r[0] : (tuple<tensor<f32>, !relay.ref<tensor<f32>>>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: function @parameter: parameter 0 is tuple<tensor<f32>, !relay.ref<tensor<f32>>>, expected a tensor or a tuple of tensors

// -----

func.func @unknown(%x: tensor<?x2xf32>, %i: tensor<3xi32>) -> tensor<3x2xf32> {
  %taken = relay.take %x, %i {axis = 0 : i64} : (tensor<?x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
  return %taken : tensor<3x2xf32>
}
// CHECK: relay.take %taken: its gradient needs the dimensions of tensor<?x2xf32>

// -----

func.func @batches(%x: tensor<2x2xf32>, %i: tensor<2x?xi32>) -> tensor<2x?xf32> {
  %0 = relay.take %x, %i {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<2x2xf32>, tensor<2x?xi32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}
// CHECK: relay.take: its gradient needs the dimensions of tensor<1x2x?xi64>

// -----

func.func @blocks(%x: tensor<1x1x3x3x4xf32>, %w: tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x3x3x4xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NCHW4c", kernel_layout = "OIHW4i4o"} : (tensor<1x1x3x3x4xf32>, tensor<1x1x1x1x4x4xf32>) -> tensor<1x1x3x3x4xf32>
  return %0 : tensor<1x1x3x3x4xf32>
}
// CHECK: relay.nn.conv2d: it has no gradient where a layout has blocks

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @again(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @again(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @again(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: func.call has no gradient: its function calls itself, has no body here, or is for another compiler

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %from = arith.constant 0 : index
  %to = arith.constant 3 : index
  %step = arith.constant 1 : index
  %0 = scf.for %i = %from to %to step %step iter_args(%y = %x) -> (tensor<f32>) {
    %1 = relay.exp %y : (tensor<f32>) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: scf.for has no gradient: loops have none

// -----

// A function for another compiler is not taken apart, though it is inlined.
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @other(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @other(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32} {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: relay.apply has no gradient: its function is not known here, calls itself, or is for another compiler

// RUN: xdsl-opt -p to-cps --split-input-file --verify-diagnostics %s | filecheck %s

relay.type_def @Lazy ["A"] [#relay.constructor<"Later", [tuple<!relay.fn<() -> !relay.type_var<"A">>>]>]
// CHECK: data type @Lazy: constructor @Later holds !relay.fn<() -> !relay.type_var<"A">>, expected no functions

// -----

func.func @loop(%n: index, %x: tensor<f32>) -> tensor<f32> {
  %0 = scf.for %i = %n to %n step %n iter_args(%y = %x) -> (tensor<f32>) {
    scf.yield %y : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: scf.for has no continuation-passing style; function values, branches and matches have

// -----

func.func @blocks(%x: tensor<f32>) -> tensor<f32> {
  cf.br ^end(%x : tensor<f32>)
^end(%y: tensor<f32>):
  return %y : tensor<f32>
}
// CHECK: function @blocks has 2 blocks, expected one

// -----

func.func @fused(%x: tensor<f32>) -> tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>> {
  %kernel = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%p: tensor<f32>):
    %0 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    relay.yield %0 : tensor<f32>
  }
  %name = relay.let %kernel : (!relay.fn<(tensor<f32>) -> tensor<f32>>) -> !relay.fn<(tensor<f32>) -> tensor<f32>>
  %held = relay.tuple %name : (!relay.fn<(tensor<f32>) -> tensor<f32>>) -> tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>>
  return %held : tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>>
}
// CHECK: relay.tuple %held uses the function of a relay.fused or of another compiler as a value, expected a call of it

// -----

func.func @one_branch(%x: tensor<f32>, %c: i1) -> tensor<f32> {
  %0 = scf.if %c -> (tensor<f32>) {
    scf.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: scf.if has results and no second branch, expected two

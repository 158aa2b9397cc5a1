// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: constructor "C" is defined twice
relay.type_def @T [] [#relay.constructor<"C", []>, #relay.constructor<"C", []>]

// -----

// CHECK: @T::@D is no constructor of a type of the module
relay.type_def @T [] [#relay.constructor<"C", []>]
func.func @construct_1() {
  %0 = relay.construct @T::@D() : () -> !relay.adt<@T, []>
  func.return
}

// -----

// CHECK: @T::@C has 1 fields, 0 are given
relay.type_def @T [] [#relay.constructor<"C", [tensor<f32>]>]
func.func @construct_2() {
  %0 = relay.construct @T::@C() : () -> !relay.adt<@T, []>
  func.return
}

// -----

// CHECK: field 0 of @T::@C is tensor<i1>, expected tensor<f32>
relay.type_def @T ["A"] [#relay.constructor<"C", [!relay.type_var<"A">]>]
func.func @construct_3(%x: tensor<i1>) {
  %0 = relay.construct @T::@C(%x) : (tensor<i1>) -> !relay.adt<@T, [tensor<f32>]>
  func.return
}

// -----

// CHECK: result type is !relay.adt<@U, []>, expected a type of @T::@C
relay.type_def @T [] [#relay.constructor<"C", []>]
relay.type_def @U [] []
func.func @construct_4() {
  %0 = relay.construct @T::@C() : () -> !relay.adt<@U, []>
  func.return
}

// -----

// CHECK: 2 patterns for 1 clauses
func.func @match_1(%x: tensor<f32>) {
  %0 = relay.match %x [#relay.wildcard_pattern, #relay.wildcard_pattern] : (tensor<f32>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  }
  func.return
}

// -----

// CHECK: result type is tensor<f32>, clause 0 yields tensor<i1>
func.func @match_2(%x: tensor<f32>, %y: tensor<i1>) {
  %0 = relay.match %x [#relay.wildcard_pattern] : (tensor<f32>) -> tensor<f32> {
    relay.yield %y : tensor<i1>
  }
  func.return
}

// -----

// CHECK: clause 0 has a block with arguments [], its pattern binds ['tensor<f32>']
func.func @match_3(%x: tensor<f32>) {
  %0 = relay.match %x [#relay.var_pattern] : (tensor<f32>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  }
  func.return
}

// -----

// CHECK: pattern #relay.tuple_pattern<[]> does not match tensor<f32>
func.func @match_4(%x: tensor<f32>) {
  %0 = relay.match %x [#relay.tuple_pattern<[]>] : (tensor<f32>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  }
  func.return
}

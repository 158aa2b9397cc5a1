// RUN: xdsl-opt -p un-cps %s | filecheck %s
// RUN: xdsl-opt -p un-cps,un-cps %s | filecheck %s

// The type that a function gives in the end is chosen; other type parameters stay.
// CHECK-LABEL: func.func @generic(%x: !relay.type_var<"A">) -> !relay.type_var<"A"> attributes {relay.type_params = ["A"]} {
// CHECK-NEXT: [[K:%.*]] = relay.closure : !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>
// CHECK:      [[F:%.*]] = relay.global_var @generic_cps_1 : !relay.fn<(!relay.type_var<"A">, !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>) -> !relay.type_var<"A">>
// CHECK-NEXT: [[R:%.*]] = relay.apply [[F]](%x, [[K]])
// CHECK-NEXT: func.return [[R]]
// CHECK-LABEL: func.func private @generic_cps_1(
func.func @generic(%x: !relay.type_var<"A">, %k: !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"B">>) -> !relay.type_var<"B"> attributes {relay.type_params = ["A", "B"]} {
  %0 = relay.apply %k(%x) : (!relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"B">>, !relay.type_var<"A">) -> !relay.type_var<"B">
  return %0 : !relay.type_var<"B">
}

// What is said of parameters stays, but of the continuation.
// CHECK-LABEL: func.func @named(%x: tensor<f32> {relay.name = "first"}, %y: tensor<f32> {relay.name = "second"}) -> tensor<f32> {
func.func @named(%x: tensor<f32> {relay.name = "first"}, %y: tensor<f32> {relay.name = "second"}, %k: !relay.fn<(tensor<f32>) -> !relay.type_var<"B">> {relay.name = "rest"}) -> !relay.type_var<"B"> attributes {relay.type_params = ["B"]} {
  %0 = relay.apply %k(%y) : (!relay.fn<(tensor<f32>) -> !relay.type_var<"B">>, tensor<f32>) -> !relay.type_var<"B">
  return %0 : !relay.type_var<"B">
}

// CHECK-LABEL: func.func @generic_cps(%x: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT: func.return %x
func.func @generic_cps(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// The function does not give what the continuation gives.
// CHECK-LABEL: func.func @keep_another_result(%x: tensor<f32>, %k:
func.func @keep_another_result(%x: tensor<f32>, %k: !relay.fn<(tensor<f32>) -> !relay.type_var<"B">>) -> tensor<f32> attributes {relay.type_params = ["B"]} {
  return %x : tensor<f32>
}

// CHECK-LABEL: func.func @keep_without_continuation(%x: !relay.type_var<"A">) -> !relay.type_var<"A">
func.func @keep_without_continuation(%x: !relay.type_var<"A">) -> !relay.type_var<"A"> attributes {relay.type_params = ["A"]} {
  return %x : !relay.type_var<"A">
}

// CHECK-LABEL: func.func @keep_a_certain_type(
func.func @keep_a_certain_type(%x: tensor<f32>, %k: !relay.fn<(tensor<f32>) -> tensor<f32>>) -> tensor<f32> {
  %0 = relay.apply %k(%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// A function in the result gives what its caller's continuation gives.
// CHECK-LABEL: func.func @keep_a_function_as_result(
func.func @keep_a_function_as_result(%f: !relay.fn<() -> !relay.type_var<"A">>, %k: !relay.fn<(!relay.fn<() -> !relay.type_var<"A">>) -> !relay.type_var<"A">>) -> !relay.type_var<"A"> attributes {relay.type_params = ["A"]} {
  %0 = relay.apply %k(%f) : (!relay.fn<(!relay.fn<() -> !relay.type_var<"A">>) -> !relay.type_var<"A">>, !relay.fn<() -> !relay.type_var<"A">>) -> !relay.type_var<"A">
  return %0 : !relay.type_var<"A">
}

// Others call it.
// CHECK-LABEL: func.func private @keep_private(%k:
func.func private @keep_private(%k: !relay.fn<() -> !relay.type_var<"A">>) -> !relay.type_var<"A"> attributes {relay.type_params = ["A"]} {
  %0 = relay.apply %k() : (!relay.fn<() -> !relay.type_var<"A">>) -> !relay.type_var<"A">
  return %0 : !relay.type_var<"A">
}

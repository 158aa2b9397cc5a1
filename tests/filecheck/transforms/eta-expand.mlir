// RUN: xdsl-opt -p eta-expand %s | filecheck %s
// RUN: xdsl-opt -p eta-expand,eta-expand %s | filecheck %s
// RUN: xdsl-opt -p 'eta-expand{expand-constructor=false}' %s | filecheck %s --check-prefix FUNCTIONS
// RUN: xdsl-opt -p 'eta-expand{expand-global-var=false}' %s | filecheck %s --check-prefix CONSTRUCTORS

relay.type_def @Pair ["A"] [#relay.constructor<"Both", [!relay.type_var<"A">, !relay.type_var<"A">]>]
relay.type_def @Box [] [#relay.constructor<"Full", [tensor<2xf32>]>]

func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// CHECK-LABEL: func.func @function
// CHECK-NEXT: [[F:%.*]] = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<2xf32>):
// CHECK-NEXT:   [[C:%.*]] = func.call @f([[P]]) :
// CHECK-NEXT:   relay.yield [[C]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return [[F]]
// FUNCTIONS: relay.closure
// CONSTRUCTORS: relay.global_var @f
func.func @function() -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  %0 = relay.global_var @f : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  return %0 : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
}

// CHECK-LABEL: func.func @constructor
// CHECK-NEXT: [[F:%.*]] = relay.closure : !relay.fn<(tensor<2xf32>) -> !relay.adt<@Box, []>> {
// CHECK:   relay.construct @Box::@Full({{%.*}})
// CHECK: func.return [[F]]
// FUNCTIONS: relay.constructor_var @Box::@Full
// CONSTRUCTORS: relay.construct @Box::@Full
func.func @constructor() -> !relay.fn<(tensor<2xf32>) -> !relay.adt<@Box, []>> {
  %0 = relay.constructor_var @Box::@Full : !relay.fn<(tensor<2xf32>) -> !relay.adt<@Box, []>>
  return %0 : !relay.fn<(tensor<2xf32>) -> !relay.adt<@Box, []>>
}

// CHECK-LABEL: func.func @type_with_parameters
// CHECK-NEXT: [[F:%.*]] = relay.closure attributes {type_params = ["A"]}
// CHECK: relay.construct @Pair::@Both({{%.*}}, {{%.*}}) : (!relay.type_var<"A">, !relay.type_var<"A">)
// CHECK: [[I:%.*]] = relay.instantiate [[F]] :
// CHECK-NEXT: func.return [[I]]
func.func @type_with_parameters() -> !relay.fn<(tensor<i1>, tensor<i1>) -> !relay.adt<@Pair, [tensor<i1>]>> {
  %0 = relay.constructor_var @Pair::@Both : !relay.fn<(tensor<i1>, tensor<i1>) -> !relay.adt<@Pair, [tensor<i1>]>>
  return %0 : !relay.fn<(tensor<i1>, tensor<i1>) -> !relay.adt<@Pair, [tensor<i1>]>>
}

// CHECK-LABEL: func.func @keep_what_is_called
// CHECK-NEXT: [[F:%.*]] = relay.global_var @f
// CHECK-NEXT: relay.apply [[F]](%x)
func.func @keep_what_is_called(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.global_var @f : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %1 = relay.apply %0(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// RUN: xdsl-opt -p partition-graph %s | filecheck %s
// RUN: xdsl-opt -p partition-graph,partition-graph %s | filecheck %s

// Two outputs of one region are projections of one call. The same input twice is one parameter, and an
// output that leaves twice is one result. Names of compilers become names of functions.
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %b0 = relay.annotation.compiler_begin %x compiler "unsanitary-name++" : (tensor<8xf32>) -> tensor<8xf32>
  %b1 = relay.annotation.compiler_begin %y compiler "unsanitary-name++" : (tensor<8xf32>) -> tensor<8xf32>
  %b2 = relay.annotation.compiler_begin %x compiler "unsanitary-name++" : (tensor<8xf32>) -> tensor<8xf32>
  %0 = relay.add %b0, %b1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.multiply %0, %b2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e0 = relay.annotation.compiler_end %0 compiler "unsanitary-name++" : (tensor<8xf32>) -> tensor<8xf32>
  %e1 = relay.annotation.compiler_end %1 compiler "unsanitary-name++" : (tensor<8xf32>) -> tensor<8xf32>
  %e2 = relay.annotation.compiler_end %0 compiler "unsanitary-name++" : (tensor<8xf32>) -> tensor<8xf32>
  %2 = relay.subtract %e0, %e1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.subtract %2, %e2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %3 : tensor<8xf32>
}

// A region is computed after all its inputs: what uses its first output alone moves behind it. Regions for
// `default` and operations of other dialects stay, in this order.
func.func @order(%x: tensor<8xf32>) -> tensor<8xf32> {
  %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %0 = relay.exp %b0 : (tensor<8xf32>) -> tensor<8xf32>
  %e0 = relay.annotation.compiler_end %0 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %d0 = relay.annotation.compiler_begin %e0 compiler "default" : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.log %d0 : (tensor<8xf32>) -> tensor<8xf32>
  %d1 = relay.annotation.compiler_end %1 compiler "default" : (tensor<8xf32>) -> tensor<8xf32>
  "test.op"(%x) {first} : (tensor<8xf32>) -> ()
  %2 = "test.op"(%x) {second} : (tensor<8xf32>) -> tensor<8xf32>
  %b1 = relay.annotation.compiler_begin %2 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %3 = relay.add %0, %b1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e1 = relay.annotation.compiler_end %3 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.add %d1, %e1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %4 : tensor<8xf32>
}

// Constants, and tuples of constants, move into the function. A tuple leaves field by field.
func.func @constants(%x: tensor<2xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>> {
  %c = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %t = relay.tuple %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %b0 = relay.annotation.compiler_begin %t compiler "a" : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %b1 = relay.annotation.compiler_begin %c compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
  %b2 = relay.annotation.compiler_begin %x compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
  %0 = relay.concatenate %b0 : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<4xf32>
  %1 = relay.add %b1, %b2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.tuple %0, %1 : (tensor<4xf32>, tensor<2xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>>
  %e = relay.annotation.compiler_end %2 compiler "a" : (tuple<tensor<4xf32>, tensor<2xf32>>) -> tuple<tensor<4xf32>, tensor<2xf32>>
  func.return %e : tuple<tensor<4xf32>, tensor<2xf32>>
}

// In a loop the region is in the body, and control flow can be within a region.
func.func @loop(%x: tensor<f32>, %go: i1) -> (tensor<f32>, tensor<f32>) {
  %0 = scf.while (%arg = %x) : (tensor<f32>) -> tensor<f32> {
    scf.condition(%go) %arg : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>):
    %b0 = relay.annotation.compiler_begin %v compiler "a" : (tensor<f32>) -> tensor<f32>
    %1 = relay.exp %b0 : (tensor<f32>) -> tensor<f32>
    %e0 = relay.annotation.compiler_end %1 compiler "a" : (tensor<f32>) -> tensor<f32>
    scf.yield %e0 : tensor<f32>
  }
  %b1 = relay.annotation.compiler_begin %x compiler "b" : (tensor<f32>) -> tensor<f32>
  %b2 = relay.annotation.compiler_begin %go compiler "b" : (i1) -> i1
  %2 = scf.if %b2 -> (tensor<f32>) {
    %3 = relay.exp %b1 : (tensor<f32>) -> tensor<f32>
    scf.yield %3 : tensor<f32>
  } else {
    scf.yield %b1 : tensor<f32>
  }
  %e1 = relay.annotation.compiler_end %2 compiler "b" : (tensor<f32>) -> tensor<f32>
  func.return %0, %e1 : tensor<f32>, tensor<f32>
}

func.func @keep_without_regions(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = func.call @tvmgen_default_unsanitary_name___main_0(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT:     %e0 = relay.tuple_get_item %0[0] : (tuple<tensor<8xf32>, tensor<8xf32>>) -> tensor<8xf32>
// CHECK-NEXT:     %e1 = relay.tuple_get_item %0[1] : (tuple<tensor<8xf32>, tensor<8xf32>>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = relay.subtract %e0, %e1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = relay.subtract %1, %e0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     func.return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @order(%x: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     "test.op"(%x) {first} : (tensor<8xf32>) -> ()
// CHECK-NEXT:     %0 = "test.op"(%x) {second} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = func.call @tvmgen_default_a_order_0(%x, %0) : (tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT:     %e0 = relay.tuple_get_item %1[0] : (tuple<tensor<8xf32>, tensor<8xf32>>) -> tensor<8xf32>
// CHECK-NEXT:     %e1 = relay.tuple_get_item %1[1] : (tuple<tensor<8xf32>, tensor<8xf32>>) -> tensor<8xf32>
// CHECK-NEXT:     %d1 = relay.log %e0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = relay.add %d1, %e1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     func.return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @constants(%x: tensor<2xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>> {
// CHECK-NEXT:     %c = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %t = relay.tuple %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT:     %e = func.call @tvmgen_default_a_constants_0() : () -> tensor<4xf32>
// CHECK-NEXT:     %e_1 = func.call @tvmgen_default_a_constants_1(%x) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     %e_2 = relay.tuple %e, %e_1 : (tensor<4xf32>, tensor<2xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>>
// CHECK-NEXT:     func.return %e_2 : tuple<tensor<4xf32>, tensor<2xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @loop(%x: tensor<f32>, %go: i1) -> (tensor<f32>, tensor<f32>) {
// CHECK-NEXT:     %0 = scf.while (%arg = %x) : (tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:       scf.condition(%go) %arg : tensor<f32>
// CHECK-NEXT:     } do {
// CHECK-NEXT:     ^bb0(%v: tensor<f32>):
// CHECK-NEXT:       %e0 = func.call @tvmgen_default_a_loop_0(%v) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:       scf.yield %e0 : tensor<f32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %e1 = func.call @tvmgen_default_b_loop_1(%go, %x) : (i1, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     func.return %0, %e1 : tensor<f32>, tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_without_regions(%x: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:     %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     func.return %0 : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_default_unsanitary_name___main_0(%unsanitary_name___0_i0: tensor<8xf32>, %unsanitary_name___0_i1: tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>> attributes {Compiler = "unsanitary-name++", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_unsanitary_name___main_0"} {
// CHECK-NEXT:     %0 = relay.add %unsanitary_name___0_i0, %unsanitary_name___0_i1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = relay.multiply %0, %unsanitary_name___0_i0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = relay.tuple %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT:     func.return %2 : tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_default_a_order_0(%a_0_i0: tensor<8xf32>, %a_0_i1: tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_order_0"} {
// CHECK-NEXT:     %0 = relay.exp %a_0_i0 : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = relay.add %0, %a_0_i1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %2 = relay.tuple %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT:     func.return %2 : tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_default_a_constants_0() -> tensor<4xf32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_constants_0"} {
// CHECK-NEXT:     %c = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %t = relay.tuple %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT:     %0 = relay.concatenate %t : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_default_a_constants_1(%a_1_i1: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_constants_1"} {
// CHECK-NEXT:     %c = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %0 = relay.add %c, %a_1_i1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     func.return %0 : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_default_a_loop_0(%a_0_i0: tensor<f32>) -> tensor<f32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_loop_0"} {
// CHECK-NEXT:     %0 = relay.exp %a_0_i0 : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:     func.return %0 : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_default_b_loop_1(%b_1_i0: i1, %b_1_i1: tensor<f32>) -> tensor<f32> attributes {Compiler = "b", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_b_loop_1"} {
// CHECK-NEXT:     %0 = scf.if %b_1_i0 -> (tensor<f32>) {
// CHECK-NEXT:       %1 = relay.exp %b_1_i1 : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:       scf.yield %1 : tensor<f32>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %b_1_i1 : tensor<f32>
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return %0 : tensor<f32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

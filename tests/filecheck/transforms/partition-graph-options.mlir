// RUN: xdsl-opt -p 'partition-graph{mod-name=my-model bind-constants=false}' %s | filecheck %s

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b0 = relay.annotation.compiler_begin %c compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
  %b1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
  %0 = relay.add %b0, %b1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %e = relay.annotation.compiler_end %0 compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
  func.return %e : tensor<2xf32>
}

// A name that the module has is not taken.
func.func private @tvmgen_my_model_a_main_0(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT:     %c = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %e = func.call @tvmgen_my_model_a_main_0_1(%c, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     func.return %e : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_my_model_a_main_0(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT:     func.return %x : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @tvmgen_my_model_a_main_0_1(%a_0_i0: tensor<2xf32>, %a_0_i1: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_my_model_a_main_0_1"} {
// CHECK-NEXT:     %0 = relay.add %a_0_i0, %a_0_i1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     func.return %0 : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

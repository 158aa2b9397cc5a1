// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:nn.relu","a:abs","a:add"},merge-compiler-regions' %s | filecheck %s --check-prefix MERGED
// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:nn.relu","a:abs","a:add"},annotate-target{targets=a operators="a:nn.relu","a:abs","a:add"},merge-compiler-regions,merge-compiler-regions' %s | filecheck %s --check-prefix MERGED
// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:nn.relu","a:abs","a:add"},merge-compiler-regions,partition-graph' %s | filecheck %s --check-prefix PARTS

// A value that `let` binds has left its region, and what uses it enters another one. Nothing merges across a `let`:
// the begin in front of it begins no region.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.let %0 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.nn.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  %z = relay.let %2 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.nn.relu %z : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.abs %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = relay.add %4, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %w = relay.let %x : (tensor<4xf32>) -> tensor<4xf32>
  %6 = relay.add %5, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %6 : tensor<4xf32>
}

// MERGED:      builtin.module {
// MERGED-NEXT:   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// MERGED-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %0 = relay.nn.relu %x_1 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %2 = relay.annotation.compiler_begin %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %y = relay.let %2 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %y_1 = relay.annotation.compiler_begin %y compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %3 = relay.exp %y_1 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %4 = relay.annotation.compiler_end %3 compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %5 = relay.annotation.compiler_begin %4 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %6 = relay.nn.relu %5 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %7 = relay.annotation.compiler_end %6 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %8 = relay.annotation.compiler_begin %7 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %z = relay.let %8 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %z_1 = relay.annotation.compiler_begin %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %9 = relay.nn.relu %z_1 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %10 = relay.abs %9 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %y_2 = relay.annotation.compiler_begin %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %11 = relay.add %10, %y_2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %x_2 = relay.annotation.compiler_begin %x compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %w = relay.let %x_2 : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %w_1 = relay.annotation.compiler_begin %w compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %12 = relay.add %11, %w_1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     %13 = relay.annotation.compiler_end %12 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// MERGED-NEXT:     func.return %13 : tensor<4xf32>
// MERGED-NEXT:   }
// MERGED-NEXT: }

// PARTS:      builtin.module {
// PARTS-NEXT:   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// PARTS-NEXT:     %0 = func.call @tvmgen_default_a_main_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %y = relay.let %0 : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %1 = relay.exp %y : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %2 = func.call @tvmgen_default_a_main_1(%1) : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %z = relay.let %2 : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %w = relay.let %x : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %3 = func.call @tvmgen_default_a_main_2(%z, %y, %w) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     func.return %3 : tensor<4xf32>
// PARTS-NEXT:   }
// PARTS-NEXT:   func.func private @tvmgen_default_a_main_0(%a_0_i0: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_main_0"} {
// PARTS-NEXT:     %0 = relay.nn.relu %a_0_i0 : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     func.return %0 : tensor<4xf32>
// PARTS-NEXT:   }
// PARTS-NEXT:   func.func private @tvmgen_default_a_main_1(%a_1_i0: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_main_1"} {
// PARTS-NEXT:     %0 = relay.nn.relu %a_1_i0 : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     func.return %0 : tensor<4xf32>
// PARTS-NEXT:   }
// PARTS-NEXT:   func.func private @tvmgen_default_a_main_2(%a_2_i0: tensor<4xf32>, %a_2_i1: tensor<4xf32>, %a_2_i2: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a", Inline = 1 : i32, Primitive = 1 : i32, global_symbol = "tvmgen_default_a_main_2"} {
// PARTS-NEXT:     %0 = relay.nn.relu %a_2_i0 : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %1 = relay.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %2 = relay.add %1, %a_2_i1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     %3 = relay.add %2, %a_2_i2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// PARTS-NEXT:     func.return %3 : tensor<4xf32>
// PARTS-NEXT:   }
// PARTS-NEXT: }

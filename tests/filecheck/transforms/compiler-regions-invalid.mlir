// RUN: xdsl-opt -p merge-compiler-regions --split-input-file --verify-diagnostics %s | filecheck %s
// RUN: xdsl-opt -p partition-graph --split-input-file --verify-diagnostics %s | filecheck %s

func.func @begin_without_end(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %0 = relay.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK: func.return uses relay.exp of region 0 of compiler 'a' in @begin_without_end, which no compiler_end leaves

// -----

func.func @effects(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  "test.op"(%b) : (tensor<4xf32>) -> ()
  func.return %x : tensor<4xf32>
}
// CHECK: test.op has effects and is in region 0 of compiler 'a' in @effects, which no compiler_end leaves

// -----

func.func @begin_within(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %c = relay.annotation.compiler_begin %b compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %c compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: relay.annotation.compiler_begin %c uses relay.annotation.compiler_begin %b of region 0 of compiler 'a' in @begin_within, which no compiler_end leaves

// -----

func.func @end_without_begin(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: relay.annotation.compiler_end %e in @end_without_begin ends a region of compiler 'a' that no compiler_begin begins

// -----

func.func @other_compiler(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: relay.annotation.compiler_end %e is for compiler 'b' and ends region 0 of compiler 'a' in @other_compiler

// -----

func.func @two_regions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %c = relay.annotation.compiler_begin %x compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: relay.add %y is in region 0 of compiler 'a' in @two_regions and in region 1 of compiler 'b' in @two_regions

// -----

func.func @half_annotated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.add %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
// CHECK: relay.add %y is in region 0 of compiler 'a' in @half_annotated, and its operand 1 enters without compiler_begin

// -----

func.func @enters_itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %c = relay.annotation.compiler_begin %e compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %z = relay.add %y, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = relay.annotation.compiler_end %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %f : tensor<4xf32>
}
// CHECK: relay.annotation.compiler_begin %c enters region 0 of compiler 'a' in @enters_itself, which its operand has just left

// -----

func.func @circle(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %y = relay.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.annotation.compiler_end %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %t = relay.tanh %e : (tensor<4xf32>) -> tensor<4xf32>
  %c = relay.annotation.compiler_begin %t compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %z = relay.add %y, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = relay.annotation.compiler_end %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %f : tensor<4xf32>
}
// CHECK: needs its own results, through {{.*}}relay.tanh %t

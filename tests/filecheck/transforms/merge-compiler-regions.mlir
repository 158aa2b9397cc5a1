// RUN: xdsl-opt -p merge-compiler-regions %s | filecheck %s
// RUN: xdsl-opt -p merge-compiler-regions,merge-compiler-regions %s | filecheck %s

// O1 = abs, O2 = relu and O3 = add are for the compiler, X = tanh is not: O1 and O2 become one region,
// O3 stays apart, as X lies between.
func.func @diamond(%x: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %b1 = relay.annotation.compiler_begin %x compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %o1 = relay.abs %b1 : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %e1 = relay.annotation.compiler_end %o1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %e2 = relay.annotation.compiler_end %o1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b2 = relay.annotation.compiler_begin %e1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %o2 = relay.nn.relu %b2 : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %e3 = relay.annotation.compiler_end %o2 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %bx = relay.annotation.compiler_begin %e2 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %x1 = relay.tanh %bx : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %ex = relay.annotation.compiler_end %x1 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b3 = relay.annotation.compiler_begin %e3 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b4 = relay.annotation.compiler_begin %ex compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %o3 = relay.add %b3, %b4 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e4 = relay.annotation.compiler_end %o3 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  func.return %e4 : tensor<10x10xf32>
}

// The same where X is in no region, and where it is an operation that nobody knows.
func.func @keep_apart_around_others(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
  %b1 = relay.annotation.compiler_begin %x compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %o1 = relay.abs %b1 : (tensor<10xf32>) -> tensor<10xf32>
  %e1 = relay.annotation.compiler_end %o1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %x1 = relay.tanh %e1 : (tensor<10xf32>) -> tensor<10xf32>
  %b2 = relay.annotation.compiler_begin %e1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %b3 = relay.annotation.compiler_begin %x1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %o2 = relay.add %b2, %b3 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %e2 = relay.annotation.compiler_end %o2 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %x2 = "test.op"(%e1) : (tensor<10xf32>) -> tensor<10xf32>
  %b4 = relay.annotation.compiler_begin %e1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %b5 = relay.annotation.compiler_begin %x2 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  %o3 = relay.add %b4, %b5 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %e3 = relay.annotation.compiler_end %o3 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
  func.return %e2, %e3 : tensor<10xf32>, tensor<10xf32>
}

// When %q merges with what is above it, %p is above %r too: %z and %s would be above and below them.
func.func @keep_apart_after_a_merge(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %z = relay.abs %b0 : (tensor<4xf32>) -> tensor<4xf32>
  %ez = relay.annotation.compiler_end %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b1 = relay.annotation.compiler_begin %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %p = relay.exp %b1 : (tensor<4xf32>) -> tensor<4xf32>
  %ep = relay.annotation.compiler_end %p compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %r = relay.tanh %ep : (tensor<4xf32>) -> tensor<4xf32>
  %k = relay.sqrt %ez : (tensor<4xf32>) -> tensor<4xf32>
  %b2 = relay.annotation.compiler_begin %k compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b3 = relay.annotation.compiler_begin %ep compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %q = relay.add %b2, %b3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %eq = relay.annotation.compiler_end %q compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b4 = relay.annotation.compiler_begin %r compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b5 = relay.annotation.compiler_begin %ez compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %s = relay.add %b4, %b5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %es = relay.annotation.compiler_end %s compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %t = relay.subtract %eq, %es : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %t : tensor<4xf32>
}

// Regions that are no neighbours, and regions for different compilers, stay as they are.
func.func @keep_siblings(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %0 = relay.abs %b0 : (tensor<4xf32>) -> tensor<4xf32>
  %e0 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %b1 : (tensor<4xf32>) -> tensor<4xf32>
  %e1 = relay.annotation.compiler_end %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b2 = relay.annotation.compiler_begin %e1 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.log %b2 : (tensor<4xf32>) -> tensor<4xf32>
  %e2 = relay.annotation.compiler_end %2 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e0, %e1, %e2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

func.func private @keep_skipped(%x: tensor<4xf32>) -> tensor<4xf32> attributes {"Compiler" = "a"} {
  %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %0 = relay.abs %b0 : (tensor<4xf32>) -> tensor<4xf32>
  %e0 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %b1 = relay.annotation.compiler_begin %e0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %b1 : (tensor<4xf32>) -> tensor<4xf32>
  %e1 = relay.annotation.compiler_end %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e1 : tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @diamond(%x: tensor<10x10xf32>) -> tensor<10x10xf32> {
// CHECK-NEXT:     %b1 = relay.annotation.compiler_begin %x compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %o1 = relay.abs %b1 : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e2 = relay.annotation.compiler_end %o1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %o2 = relay.nn.relu %o1 : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e3 = relay.annotation.compiler_end %o2 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %bx = relay.annotation.compiler_begin %e2 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %x1 = relay.tanh %bx : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %ex = relay.annotation.compiler_end %x1 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b3 = relay.annotation.compiler_begin %e3 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b4 = relay.annotation.compiler_begin %ex compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %o3 = relay.add %b3, %b4 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e4 = relay.annotation.compiler_end %o3 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     func.return %e4 : tensor<10x10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_apart_around_others(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
// CHECK-NEXT:     %b1 = relay.annotation.compiler_begin %x compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %o1 = relay.abs %b1 : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %e1 = relay.annotation.compiler_end %o1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %x1 = relay.tanh %e1 : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %b2 = relay.annotation.compiler_begin %e1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %b3 = relay.annotation.compiler_begin %x1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %o2 = relay.add %b2, %b3 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %e2 = relay.annotation.compiler_end %o2 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %x2 = "test.op"(%e1) : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %b4 = relay.annotation.compiler_begin %e1 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %b5 = relay.annotation.compiler_begin %x2 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %o3 = relay.add %b4, %b5 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     %e3 = relay.annotation.compiler_end %o3 compiler "test" : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT:     func.return %e2, %e3 : tensor<10xf32>, tensor<10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_apart_after_a_merge(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %z = relay.abs %b0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %ez = relay.annotation.compiler_end %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b1 = relay.annotation.compiler_begin %y compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %p = relay.exp %b1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %ep = relay.annotation.compiler_end %p compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %r = relay.tanh %ep : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %k = relay.sqrt %ez : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b2 = relay.annotation.compiler_begin %k compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %q = relay.add %b2, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %eq = relay.annotation.compiler_end %q compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b4 = relay.annotation.compiler_begin %r compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b5 = relay.annotation.compiler_begin %ez compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %s = relay.add %b4, %b5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %es = relay.annotation.compiler_end %s compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %t = relay.subtract %eq, %es : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %t : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_siblings(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:     %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.abs %b0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %e0 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.exp %b1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %e1 = relay.annotation.compiler_end %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b2 = relay.annotation.compiler_begin %e1 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = relay.log %b2 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %e2 = relay.annotation.compiler_end %2 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %e0, %e1, %e2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @keep_skipped(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a"} {
// CHECK-NEXT:     %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.abs %b0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %e0 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %b1 = relay.annotation.compiler_begin %e0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.exp %b1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %e1 = relay.annotation.compiler_end %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %e1 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

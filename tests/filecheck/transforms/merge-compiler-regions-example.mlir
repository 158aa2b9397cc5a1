// RUN: xdsl-opt -p merge-compiler-regions %s | filecheck %s

// The example of the design that introduced the pass (discuss.tvm.apache.org, topic 5830): seven additions
// for the compiler "test", three subtractions for none. Two regions of each remain: the second subtraction
// region needs the first addition region, and the second addition region needs both.
func.func @main(%i1: tensor<10x10xf32>, %i2: tensor<10x10xf32>, %i3: tensor<10x10xf32>, %i4: tensor<10x10xf32>, %i5: tensor<10x10xf32>, %i6: tensor<10x10xf32>, %i7: tensor<10x10xf32>, %i8: tensor<10x10xf32>, %i9: tensor<10x10xf32>, %i10: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %b0 = relay.annotation.compiler_begin %i1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b1 = relay.annotation.compiler_begin %i2 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n0 = relay.add %b0, %b1 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %b2 = relay.annotation.compiler_begin %i3 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b3 = relay.annotation.compiler_begin %i4 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n1 = relay.add %b2, %b3 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e4 = relay.annotation.compiler_end %n0 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %e5 = relay.annotation.compiler_end %n1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b6 = relay.annotation.compiler_begin %e4 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b7 = relay.annotation.compiler_begin %e5 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n2 = relay.add %b6, %b7 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %b8 = relay.annotation.compiler_begin %i5 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b9 = relay.annotation.compiler_begin %i6 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n3 = relay.subtract %b8, %b9 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e10 = relay.annotation.compiler_end %n3 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b11 = relay.annotation.compiler_begin %i7 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b12 = relay.annotation.compiler_begin %e10 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n4 = relay.subtract %b11, %b12 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e13 = relay.annotation.compiler_end %n2 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %e14 = relay.annotation.compiler_end %n4 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b15 = relay.annotation.compiler_begin %e13 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b16 = relay.annotation.compiler_begin %e14 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n5 = relay.add %b15, %b16 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e17 = relay.annotation.compiler_end %n5 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b18 = relay.annotation.compiler_begin %i8 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b19 = relay.annotation.compiler_begin %e17 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n6 = relay.subtract %b18, %b19 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e20 = relay.annotation.compiler_end %n5 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b21 = relay.annotation.compiler_begin %i9 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b22 = relay.annotation.compiler_begin %e20 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n7 = relay.add %b21, %b22 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e23 = relay.annotation.compiler_end %n6 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %e24 = relay.annotation.compiler_end %n7 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b25 = relay.annotation.compiler_begin %e23 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b26 = relay.annotation.compiler_begin %e24 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n8 = relay.add %b25, %b26 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e27 = relay.annotation.compiler_end %n8 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b28 = relay.annotation.compiler_begin %i10 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %b29 = relay.annotation.compiler_begin %e27 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  %n9 = relay.add %b28, %b29 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %e30 = relay.annotation.compiler_end %n9 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
  func.return %e30 : tensor<10x10xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%i1: tensor<10x10xf32>, %i2: tensor<10x10xf32>, %i3: tensor<10x10xf32>, %i4: tensor<10x10xf32>, %i5: tensor<10x10xf32>, %i6: tensor<10x10xf32>, %i7: tensor<10x10xf32>, %i8: tensor<10x10xf32>, %i9: tensor<10x10xf32>, %i10: tensor<10x10xf32>) -> tensor<10x10xf32> {
// CHECK-NEXT:     %b0 = relay.annotation.compiler_begin %i1 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b1 = relay.annotation.compiler_begin %i2 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n0 = relay.add %b0, %b1 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b2 = relay.annotation.compiler_begin %i3 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b3 = relay.annotation.compiler_begin %i4 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n1 = relay.add %b2, %b3 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n2 = relay.add %n0, %n1 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b8 = relay.annotation.compiler_begin %i5 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b9 = relay.annotation.compiler_begin %i6 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n3 = relay.subtract %b8, %b9 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b11 = relay.annotation.compiler_begin %i7 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n4 = relay.subtract %b11, %n3 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e14 = relay.annotation.compiler_end %n4 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b16 = relay.annotation.compiler_begin %e14 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n5 = relay.add %n2, %b16 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e17 = relay.annotation.compiler_end %n5 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b18 = relay.annotation.compiler_begin %i8 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b19 = relay.annotation.compiler_begin %e17 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n6 = relay.subtract %b18, %b19 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b21 = relay.annotation.compiler_begin %i9 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n7 = relay.add %b21, %n5 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e23 = relay.annotation.compiler_end %n6 compiler "default" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e24 = relay.annotation.compiler_end %n7 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b25 = relay.annotation.compiler_begin %e23 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b26 = relay.annotation.compiler_begin %e24 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n8 = relay.add %b25, %b26 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %b28 = relay.annotation.compiler_begin %i10 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %n9 = relay.add %b28, %n8 : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     %e30 = relay.annotation.compiler_end %n9 compiler "test" : (tensor<10x10xf32>) -> tensor<10x10xf32>
// CHECK-NEXT:     func.return %e30 : tensor<10x10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

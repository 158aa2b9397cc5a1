// RUN: xdsl-opt -p 'annotate-target{targets=a,b operators="a:nn.relu","a:add","b:add","b:exp"}' %s | filecheck %s
// RUN: xdsl-opt -p 'annotate-target{targets=a,b operators="a:nn.relu","a:add","b:add","b:exp"},annotate-target{targets=a,b operators="a:nn.relu","a:add","b:add","b:exp"}' %s | filecheck %s
// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:nn.relu","a:add"},annotate-target{targets=b operators="b:add","b:exp"}' %s | filecheck %s

// The first compiler that supports an operator gets it; one after the other is the same.
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.add %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.log %2 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// A composite is for the compiler that its name begins with, its body is not entered.
func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.composite "b.exp" %x : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %1 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    relay.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// Constants and operators without operands are inputs.
func.func @inputs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = relay.constant dense<1.0> : tensor<4xf32>
  %z = relay.zeros {shape = array<i64: 4>, dtype = f32} : tensor<4xf32>
  %0 = relay.add %c, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func @keep_zeros() -> tensor<4xf32> {
  %z = relay.zeros {shape = array<i64: 4>, dtype = f32} : tensor<4xf32>
  func.return %z : tensor<4xf32>
}

func.func @keep_empty_tuple() -> tuple<> {
  %t = relay.tuple : () -> tuple<>
  func.return %t : tuple<>
}

// Values leave for operations of other dialects; branches and conditions end.
func.func @control(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %i = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %i -> (tensor<4xf32>) {
    %2 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %0 : tensor<4xf32>
  }
  %3 = "test.op"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.nn.relu %3 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

func.func private @keep_skipped(%x: tensor<4xf32>) -> tensor<4xf32> attributes {"Compiler" = "a"} {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.nn.relu %x_1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = relay.annotation.compiler_begin %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %3 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %4 = relay.annotation.compiler_begin %3 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %5 = relay.add %2, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %6 = relay.annotation.compiler_end %5 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %7 = relay.annotation.compiler_begin %6 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %8 = relay.exp %7 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %9 = relay.annotation.compiler_end %8 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %10 = relay.annotation.compiler_begin %9 compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %11 = relay.log %10 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %12 = relay.annotation.compiler_end %11 compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %12 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.composite "b.exp" %x_1 : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     ^bb0(%p: tensor<4xf32>):
// CHECK-NEXT:       %1 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       relay.yield %1 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %1 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @inputs(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %c = relay.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT:     %z = relay.zeros {shape = array<i64: 4>, dtype = f32} : tensor<4xf32>
// CHECK-NEXT:     %c_1 = relay.annotation.compiler_begin %c compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %z_1 = relay.annotation.compiler_begin %z compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.add %c_1, %z_1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %1 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_zeros() -> tensor<4xf32> {
// CHECK-NEXT:     %z = relay.zeros {shape = array<i64: 4>, dtype = f32} : tensor<4xf32>
// CHECK-NEXT:     func.return %z : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @keep_empty_tuple() -> tuple<> {
// CHECK-NEXT:     %t = relay.tuple : () -> tuple<>
// CHECK-NEXT:     func.return %t : tuple<>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @control(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.nn.relu %x_1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %i = tensor.extract %c[] : tensor<i1>
// CHECK-NEXT:     %1 = scf.if %i -> (tensor<4xf32>) {
// CHECK-NEXT:       %2 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       %3 = relay.annotation.compiler_begin %2 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       %4 = relay.exp %3 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       %5 = relay.annotation.compiler_end %4 compiler "b" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       scf.yield %5 : tensor<4xf32>
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %6 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:       scf.yield %6 : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %7 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %8 = "test.op"(%7, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %9 = relay.annotation.compiler_begin %8 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %10 = relay.nn.relu %9 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %11 = relay.annotation.compiler_end %10 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %11 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @keep_skipped(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "a"} {
// CHECK-NEXT:     %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// RUN: xdsl-opt -p 'annotate-target{targets=a operators="a:nn.relu","a:concatenate","a:split"}' %s | filecheck %s

// Tuples, projections and references are for the common compiler of their operands.
func.func @tuple(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.tuple %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %2 = relay.concatenate %1 {axis = 0 : i64} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<8xf32>
  func.return %2 : tensor<8xf32>
}

func.func @mixed_tuple(%x: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.tuple %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  func.return %2 : tuple<tensor<4xf32>, tensor<4xf32>>
}

func.func @projection(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = relay.split %x {indices_or_sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

func.func @reference(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %r = relay.ref_create %0 : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %w = relay.ref_write %r, %x : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
  %1 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @tuple(%x: tensor<4xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.nn.relu %x_1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = relay.annotation.compiler_begin %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %3 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %4 = relay.annotation.compiler_begin %3 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %5 = relay.tuple %2, %4 : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT:     %6 = relay.annotation.compiler_end %5 compiler "a" : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT:     %7 = relay.annotation.compiler_begin %6 compiler "a" : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT:     %8 = relay.concatenate %7 : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<8xf32>
// CHECK-NEXT:     %9 = relay.annotation.compiler_end %8 compiler "a" : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     func.return %9 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @mixed_tuple(%x: tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.nn.relu %x_1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %x_2 = relay.annotation.compiler_begin %x compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.exp %x_2 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %3 = relay.annotation.compiler_begin %2 compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %4 = relay.annotation.compiler_end %1 compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %5 = relay.annotation.compiler_begin %4 compiler "default" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %6 = relay.tuple %3, %5 : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT:     %7 = relay.annotation.compiler_end %6 compiler "default" : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT:     func.return %7 : tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @projection(%x: tensor<4xf32>) -> tensor<2xf32> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.split %x_1 {indices_or_sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "a" : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT:     %2 = relay.annotation.compiler_begin %1 compiler "a" : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT:     %3 = relay.tuple_get_item %2[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT:     %4 = relay.annotation.compiler_end %3 compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     func.return %4 : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @reference(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %x_1 = relay.annotation.compiler_begin %x compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %0 = relay.nn.relu %x_1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %1 = relay.annotation.compiler_end %0 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %2 = relay.annotation.compiler_begin %1 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     %r = relay.ref_create %2 : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
// CHECK-NEXT:     %r_1 = relay.annotation.compiler_end %r compiler "a" : (!relay.ref<tensor<4xf32>>) -> !relay.ref<tensor<4xf32>>
// CHECK-NEXT:     %w = relay.ref_write %r_1, %x : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
// CHECK-NEXT:     %r_2 = relay.annotation.compiler_end %r compiler "a" : (!relay.ref<tensor<4xf32>>) -> !relay.ref<tensor<4xf32>>
// CHECK-NEXT:     %r_3 = relay.annotation.compiler_begin %r_2 compiler "a" : (!relay.ref<tensor<4xf32>>) -> !relay.ref<tensor<4xf32>>
// CHECK-NEXT:     %3 = relay.ref_read %r_3 : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
// CHECK-NEXT:     %4 = relay.annotation.compiler_end %3 compiler "a" : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:     func.return %4 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

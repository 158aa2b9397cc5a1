// RUN: xdsl-opt -p promote-references %s | filecheck %s
// RUN: xdsl-opt -p promote-references,promote-references %s | filecheck %s

func.func @cell(%x: tensor<4xf32>) -> (tensor<4xf32>, tuple<>) {
  %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %0 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %u = relay.ref_write %r, %1 : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
  %2 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  %3 = relay.add %0, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3, %u : tensor<4xf32>, tuple<>
}
// CHECK:         func.func @cell(%x: tensor<4xf32>) -> (tensor<4xf32>, tuple<>) {
// CHECK-NEXT:      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      %u = relay.tuple : () -> tuple<>
// CHECK-NEXT:      %1 = relay.add %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      func.return %1, %u : tensor<4xf32>, tuple<>

// A cell that holds a cell, and one in a tuple: two names of the same.
func.func @aliases(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %s = relay.ref_create %r : (!relay.ref<tensor<4xf32>>) -> !relay.ref<!relay.ref<tensor<4xf32>>>
  %t = relay.tuple %s, %y : (!relay.ref<!relay.ref<tensor<4xf32>>>, tensor<4xf32>) -> tuple<!relay.ref<!relay.ref<tensor<4xf32>>>, tensor<4xf32>>
  %t0 = relay.tuple_get_item %t[0] : (tuple<!relay.ref<!relay.ref<tensor<4xf32>>>, tensor<4xf32>>) -> !relay.ref<!relay.ref<tensor<4xf32>>>
  %t1 = relay.tuple_get_item %t[1] : (tuple<!relay.ref<!relay.ref<tensor<4xf32>>>, tensor<4xf32>>) -> tensor<4xf32>
  %same = relay.ref_read %t0 : (!relay.ref<!relay.ref<tensor<4xf32>>>) -> !relay.ref<tensor<4xf32>>
  %u = relay.ref_write %same, %t1 : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
  %new = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %v = relay.ref_write %s, %new : (!relay.ref<!relay.ref<tensor<4xf32>>>, !relay.ref<tensor<4xf32>>) -> tuple<>
  %0 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  %other = relay.ref_read %t0 : (!relay.ref<!relay.ref<tensor<4xf32>>>) -> !relay.ref<tensor<4xf32>>
  %1 = relay.ref_read %other : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK:         func.func @aliases(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:      func.return %y, %x : tensor<4xf32>, tensor<4xf32>

// One that is made and seen in a branch only.
func.func @in_branch(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.if %c -> (tensor<4xf32>) {
    %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
    %1 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %2 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
// CHECK:         func.func @in_branch
// CHECK-NEXT:      scf.if %c -> (tensor<4xf32>) {
// CHECK-NEXT:        scf.yield %x : tensor<4xf32>

func.func @no_branch_writes(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  scf.if %c {
    %u = relay.ref_write %r, %y : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
  }
  %0 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:         func.func @no_branch_writes
// CHECK-NEXT:      %r = relay.ref_create
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        %u = relay.ref_write
// CHECK-NEXT:      }
// CHECK-NEXT:      %0 = relay.ref_read

// What is in a cell that others see is seen by others.
func.func @no_returned_cell(%x: tensor<4xf32>) -> (tensor<4xf32>, tuple<!relay.ref<!relay.ref<tensor<4xf32>>>>) {
  %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %s = relay.ref_create %r : (!relay.ref<tensor<4xf32>>) -> !relay.ref<!relay.ref<tensor<4xf32>>>
  %t = relay.tuple %s : (!relay.ref<!relay.ref<tensor<4xf32>>>) -> tuple<!relay.ref<!relay.ref<tensor<4xf32>>>>
  %0 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %0, %t : tensor<4xf32>, tuple<!relay.ref<!relay.ref<tensor<4xf32>>>>
}
// CHECK:         func.func @no_returned_cell
// CHECK-COUNT-2:   relay.ref_create
// CHECK-NEXT:      relay.tuple
// CHECK-NEXT:      relay.ref_read

func.func @no_parameter(%r: !relay.ref<tensor<4xf32>>) -> tensor<4xf32> {
  %0 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:         func.func @no_parameter
// CHECK-NEXT:      relay.ref_read

func.func @no_known_shape(%x: tensor<4xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = relay.ref_create %y : (tensor<?xf32>) -> !relay.ref<tensor<?xf32>>
  %u = relay.ref_write %r, %x : (!relay.ref<tensor<?xf32>>, tensor<4xf32>) -> tuple<>
  %0 = relay.ref_read %r : (!relay.ref<tensor<?xf32>>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
// CHECK:         func.func @no_known_shape
// CHECK-NEXT:      relay.ref_create
// CHECK-NEXT:      relay.ref_write
// CHECK-NEXT:      relay.ref_read

func.func @no_other_compiler(%x: tensor<4xf32>) -> tensor<4xf32> attributes {"Compiler" = "a"} {
  %r = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %0 = relay.ref_read %r : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK:         func.func @no_other_compiler
// CHECK-NEXT:      relay.ref_create
// CHECK-NEXT:      relay.ref_read

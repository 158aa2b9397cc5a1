// RUN: xdsl-opt -p infer-type %s | filecheck %s
// RUN: xdsl-opt -p infer-type,infer-type %s | filecheck %s

// Calls carry results: @callee is inferred before the second sweep of @operators.
func.func @operators(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> tensor<?x3xf32> {
  %0 = relay.add %x, %y : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
  %1 = func.call @callee(%x) : (tensor<2x3xf32>) -> tensor<?x?xf32>
  %2 = relay.tuple %0, %1 : (tensor<?x3xf32>, tensor<?x?xf32>) -> tuple<tensor<?x3xf32>, tensor<?x?xf32>>
  %3 = relay.tuple_get_item %2[1] : (tuple<tensor<?x3xf32>, tensor<?x?xf32>>) -> tensor<?x?xf32>
  %4 = relay.subtract %0, %3 : (tensor<?x3xf32>, tensor<?x?xf32>) -> tensor<?x3xf32>
  func.return %4 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @operators(
// CHECK-SAME:  -> tensor<2x3xf32> {
// CHECK-NEXT:   %{{.*}} = relay.add %{{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:   %{{.*}} = func.call @callee(%{{.*}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:   %{{.*}} = relay.tuple %{{.*}} -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
// CHECK-NEXT:   %{{.*}} = relay.tuple_get_item %{{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:   %{{.*}} = relay.subtract %{{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:   func.return %{{.*}} : tensor<2x3xf32>

func.func @callee(%x: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %0 = relay.exp %x : (tensor<2x3xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @callee(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {

func.func @bodies(%x: tensor<2xf32>) -> tensor<?xf32> {
  %0 = relay.fused %x : (tensor<2xf32>) -> tensor<?xf32> {
  ^bb0(%p: tensor<?xf32>):
    %1 = relay.composite "c.exp" %p : (tensor<?xf32>) -> tensor<?xf32> {
    ^bb1(%q: tensor<?xf32>):
      %2 = relay.exp %q : (tensor<?xf32>) -> tensor<?xf32>
      relay.yield %2 : tensor<?xf32>
    }
    relay.yield %1 : tensor<?xf32>
  }
  func.return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @bodies(
// CHECK-NEXT:   %{{.*}} = relay.fused %{{.*}} -> tensor<2xf32> {
// CHECK-NEXT:   ^{{.*}}(%{{.*}}: tensor<2xf32>):
// CHECK-NEXT:     %{{.*}} = relay.composite "c.exp" %{{.*}} -> tensor<2xf32> {
// CHECK-NEXT:     ^{{.*}}(%{{.*}}: tensor<2xf32>):
// CHECK-NEXT:       %{{.*}} = relay.exp %{{.*}} -> tensor<2xf32>

// Only what both branches know.
func.func @branches(%p: i1, %x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<?x?xf32> {
  %0 = scf.if %p -> (tensor<?x?xf32>) {
    scf.yield %x : tensor<2x3xf32>
  } else {
    %1 = relay.exp %y : (tensor<4x3xf32>) -> tensor<?x?xf32>
    scf.yield %1 : tensor<?x?xf32>
  }
  func.return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @branches(
// CHECK-SAME:  -> tensor<?x3xf32> {
// CHECK-NEXT:   %{{.*}} = scf.if %{{.*}} -> (tensor<?x3xf32>) {

func.func @functions(%x: tensor<2xf32>) -> tensor<?xf32> {
  %0 = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<?xf32>> {
  ^bb0(%y: tensor<2xf32>):
    %1 = relay.exp %y : (tensor<2xf32>) -> tensor<?xf32>
    relay.yield %1 : tensor<?xf32>
  }
  %2 = relay.apply %0(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<?xf32>>, tensor<2xf32>) -> tensor<?xf32>
  %3 = relay.tuple %2 : (tensor<?xf32>) -> tuple<tensor<?xf32>>
  %4 = relay.match %3 [#relay.tuple_pattern<[#relay.var_pattern]>] : (tuple<tensor<?xf32>>) -> tensor<?xf32> {
  ^bb1(%field: tensor<?xf32>):
    relay.yield %field : tensor<?xf32>
  }
  func.return %4 : tensor<?xf32>
}

// CHECK-LABEL: func.func @functions(
// CHECK-NEXT:   %{{.*}} = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
// CHECK:        %{{.*}} = relay.apply %{{.*}} -> tensor<2xf32>
// CHECK:        %{{.*}} = relay.match %{{.*}} -> tensor<2xf32> {
// CHECK-NEXT:   ^{{.*}}(%{{.*}}: tensor<2xf32>):

// What the program states is kept where inference knows less.
func.func @keep_stated(%x: tensor<?xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<?xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_stated(
// CHECK-NEXT:   %{{.*}} = relay.exp %{{.*}} : (tensor<?xf32>) -> tensor<2xf32>

// Other dialects and calls get the type that they had.
func.func @keep_other_dialects(%x: tensor<2xf32>) {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<?xf32>
  "test.op"(%0) : (tensor<?xf32>) -> ()
  %1 = func.call @any(%0) : (tensor<?xf32>) -> tensor<?xf32>
  func.return
}

func.func private @any(tensor<?xf32>) -> tensor<?xf32>

// CHECK-LABEL: func.func @keep_other_dialects(
// CHECK-NEXT:   %[[V:\w+]] = relay.exp %{{.*}} -> tensor<2xf32>
// CHECK-NEXT:   %[[C0:\w+]] = tensor.cast %[[V]] : tensor<2xf32> to tensor<?xf32>
// CHECK-NEXT:   "test.op"(%[[C0]]) : (tensor<?xf32>) -> ()
// CHECK-NEXT:   %[[C1:\w+]] = tensor.cast %[[V]] : tensor<2xf32> to tensor<?xf32>
// CHECK-NEXT:   %{{.*}} = func.call @any(%[[C1]]) : (tensor<?xf32>) -> tensor<?xf32>

// A loop carries what it starts with, where rounds give the same.
func.func @loops(%x: tensor<2xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
  %r:2 = scf.for %i = %0 to %n step %1 iter_args(%b = %a, %c = %a) -> (tensor<?xf32>, tensor<?xf32>) {
    %d = relay.exp %b : (tensor<?xf32>) -> tensor<?xf32>
    %t = relay.tuple %c, %d : (tensor<?xf32>, tensor<?xf32>) -> tuple<tensor<?xf32>, tensor<?xf32>>
    %e = relay.concatenate %t : (tuple<tensor<?xf32>, tensor<?xf32>>) -> tensor<?xf32>
    scf.yield %d, %e : tensor<?xf32>, tensor<?xf32>
  }
  func.return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @loops(
// CHECK-SAME:    -> (tensor<2xf32>, tensor<?xf32>)
// CHECK:        scf.for {{.*}} -> (tensor<2xf32>, tensor<?xf32>) {
// CHECK-NEXT:     %[[D:.*]] = relay.exp %{{.*}} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK:          scf.yield %[[D]], %{{.*}} : tensor<2xf32>, tensor<?xf32>

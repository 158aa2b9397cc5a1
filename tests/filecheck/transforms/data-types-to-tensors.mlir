// RUN: xdsl-opt -p data-types-to-tensors %s | filecheck %s
// RUN: xrelay-opt -p data-types-to-tensors --verify-semantics %s 2>&1 | filecheck %s --check-prefix MEANING

// MEANING: the results of @main, @option, @list, @tree stay the same in 1 passes

relay.type_def @Option [] [#relay.constructor<"Some", [tensor<2xf32>]>, #relay.constructor<"None", []>]
relay.type_def @List [] [#relay.constructor<"Cons", [tensor<2xf32>, !relay.adt<@List, []>]>, #relay.constructor<"Nil", []>]
relay.type_def @Tree [] [#relay.constructor<"Node", [!relay.adt<@Tree, []>, tensor<2xf32>, !relay.adt<@Tree, []>]>, #relay.constructor<"Leaf", []>]

// CHECK-NOT: relay.type_def

// CHECK-LABEL: func.func @main(
// CHECK-NOT: relay.construct
// CHECK-NOT: relay.match
func.func @main(%x: tensor<2xf32>, %c: tensor<i1>) -> tuple<tensor<2xf32>, tensor<2xf32>, tensor<2xf32>> {
  %0 = func.call @option(%x, %c) : (tensor<2xf32>, tensor<i1>) -> tensor<2xf32>
  %1 = func.call @list(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = func.call @tree(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.tuple %0, %1, %2 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>, tensor<2xf32>>
  return %3 : tuple<tensor<2xf32>, tensor<2xf32>, tensor<2xf32>>
}

// The number of the constructor, and the fields of all.
// CHECK-LABEL: func.func private @option(
// CHECK-SAME: [[X:%.*]]: tensor<2xf32>, {{%.*}}: tensor<i1>)
// CHECK:      [[O:%.*]] = scf.if {{%.*}} -> (tuple<tensor<i32>, tensor<2xf32>>) {
// CHECK:        [[K:%.*]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT:   [[S:%.*]] = relay.tuple [[K]], [[X]]
// CHECK-NEXT:   scf.yield [[S]]
// CHECK:      } else {
// CHECK-NEXT:   [[K:%.*]] = relay.constant dense<0> : tensor<i32>
// CHECK-NEXT:   [[Z:%.*]] = relay.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-NEXT:   [[N:%.*]] = relay.tuple [[K]], [[Z]]
// CHECK-NEXT:   scf.yield [[N]]
// CHECK:      [[K:%.*]] = relay.tuple_get_item [[O]][0]
// CHECK:      [[T:%.*]] = relay.less [[K]], {{%.*}}
// CHECK-NEXT: [[C:%.*]] = tensor.extract [[T]][]
// CHECK-NEXT: [[R:%.*]] = scf.if [[C]] -> (tensor<2xf32>) {
// CHECK-NEXT:   scf.yield [[X]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   [[Y:%.*]] = relay.tuple_get_item [[O]][1]
// CHECK-NEXT:   relay.exp [[Y]]
func.func private @option(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %o = scf.if %b -> (!relay.adt<@Option, []>) {
    %s = relay.construct @Option::@Some(%x) : (tensor<2xf32>) -> !relay.adt<@Option, []>
    scf.yield %s : !relay.adt<@Option, []>
  } else {
    %n = relay.construct @Option::@None() : () -> !relay.adt<@Option, []>
    scf.yield %n : !relay.adt<@Option, []>
  }
  %r = relay.match %o [#relay.constructor_pattern<@Option::@Some, [#relay.var_pattern]>, #relay.constructor_pattern<@Option::@None, []>] attributes {complete} : (!relay.adt<@Option, []>) -> tensor<2xf32> {
  ^bb0(%y: tensor<2xf32>):
    %e = relay.exp %y : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %e : tensor<2xf32>
  } {
    relay.yield %x : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// A row for each constructor, and a blank one. A clause that is not there ends the program.
// CHECK-LABEL: func.func private @list(
// CHECK-SAME: [[X:%.*]]: tensor<2xf32>)
// CHECK:      [[NIL:%.*]] = relay.tuple {{%.*}}, {{%.*}} : (tensor<?xi32>, tensor<?x2xf32>) -> tuple<tensor<?xi32>, tensor<?x2xf32>>
// CHECK:      [[OWN:%.*]] = relay.expand_dims [[X]]
// CHECK:      [[REST:%.*]] = relay.tuple_get_item [[NIL]][1]
// CHECK-NEXT: [[BOTH:%.*]] = relay.tuple [[OWN]], [[REST]]
// CHECK-NEXT: relay.concatenate [[BOTH]]
// CHECK:      scf.if {{%.*}} -> (tensor<2xf32>) {
// CHECK-NEXT:   [[F:%.*]] = relay.fail "no clause of a relay.match has a pattern for Nil" : tensor<2xf32>
// CHECK-NEXT:   scf.yield [[F]]
// CHECK-NEXT: } else {
// CHECK:        relay.take
// CHECK:        relay.strided_slice {{%.*}} {begin = array<i64: 1>, end = array<i64: -1>, slice_mode = "size", axes = array<i64: 0>}
func.func private @list(%x: tensor<2xf32>) -> tensor<2xf32> {
  %n = relay.construct @List::@Nil() : () -> !relay.adt<@List, []>
  %l = relay.construct @List::@Cons(%x, %n) : (tensor<2xf32>, !relay.adt<@List, []>) -> !relay.adt<@List, []>
  %r = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.var_pattern, #relay.var_pattern]>] : (!relay.adt<@List, []>) -> tensor<2xf32> {
  ^bb0(%h: tensor<2xf32>, %t: !relay.adt<@List, []>):
    %s = relay.match %t [#relay.constructor_pattern<@List::@Cons, [#relay.var_pattern, #relay.wildcard_pattern]>, #relay.var_pattern] attributes {complete} : (!relay.adt<@List, []>) -> tensor<2xf32> {
    ^bb0(%y: tensor<2xf32>):
      relay.yield %y : tensor<2xf32>
    } {
    ^bb0(%u: !relay.adt<@List, []>):
      %e = relay.negative %h : (tensor<2xf32>) -> tensor<2xf32>
      relay.yield %e : tensor<2xf32>
    }
    relay.yield %s : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// Of several parts rows say how many are theirs; those of a part are found.
// CHECK-LABEL: func.func private @tree(
// CHECK:      tuple<tensor<?xi32>, tensor<?xi32>, tensor<?x2xf32>>
// CHECK:      relay.cumsum
// CHECK:      relay.argwhere
// CHECK-NOT:  relay.dyn
func.func private @tree(%x: tensor<2xf32>) -> tensor<2xf32> {
  %l = relay.construct @Tree::@Leaf() : () -> !relay.adt<@Tree, []>
  %a = relay.construct @Tree::@Node(%l, %x, %l) : (!relay.adt<@Tree, []>, tensor<2xf32>, !relay.adt<@Tree, []>) -> !relay.adt<@Tree, []>
  %y = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = relay.construct @Tree::@Node(%l, %y, %a) : (!relay.adt<@Tree, []>, tensor<2xf32>, !relay.adt<@Tree, []>) -> !relay.adt<@Tree, []>
  %z = relay.negative %x : (tensor<2xf32>) -> tensor<2xf32>
  %c = relay.construct @Tree::@Node(%b, %z, %a) : (!relay.adt<@Tree, []>, tensor<2xf32>, !relay.adt<@Tree, []>) -> !relay.adt<@Tree, []>
  %r = relay.match %c [#relay.constructor_pattern<@Tree::@Node, [#relay.constructor_pattern<@Tree::@Node, [#relay.wildcard_pattern, #relay.var_pattern, #relay.constructor_pattern<@Tree::@Node, [#relay.wildcard_pattern, #relay.var_pattern, #relay.wildcard_pattern]>]>, #relay.var_pattern, #relay.var_pattern]>, #relay.wildcard_pattern] attributes {complete} : (!relay.adt<@Tree, []>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>, %s: tensor<2xf32>, %t: !relay.adt<@Tree, []>):
    %v = relay.match %t [#relay.constructor_pattern<@Tree::@Node, [#relay.wildcard_pattern, #relay.var_pattern, #relay.wildcard_pattern]>, #relay.constructor_pattern<@Tree::@Leaf, []>] attributes {complete} : (!relay.adt<@Tree, []>) -> tensor<2xf32> {
    ^bb0(%w: tensor<2xf32>):
      relay.yield %w : tensor<2xf32>
    } {
      relay.yield %q : tensor<2xf32>
    }
    %1 = relay.multiply %p, %q : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = relay.subtract %1, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %3 = relay.divide %2, %v : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %3 : tensor<2xf32>
  } {
    relay.yield %x : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

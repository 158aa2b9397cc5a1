// RUN: xdsl-opt -p to-a-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-a-normal-form,to-a-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-a-normal-form,to-graph-normal-form %s | filecheck %s --check-prefix GRAPH
// RUN: xrelay-opt -p to-a-normal-form -t relay-text %s | filecheck %s --check-prefix TEXT

// CHECK-LABEL: func.func @values
// CHECK-NEXT: [[T:%.*]] = relay.constant
// CHECK-NEXT: [[N:%.*]] = relay.let [[T]] :
// CHECK-NEXT: [[M:%.*]] = relay.multiply %x, [[N]] :
// CHECK-NEXT: [[P:%.*]] = relay.let [[M]] :
// CHECK-NEXT: func.return [[P]]
// TEXT-LABEL: @values(
// TEXT-NEXT: let %two = 2f;
// TEXT-NEXT: let [[P:%.*]] = multiply(%x, %two);
// TEXT-NEXT: [[P]]
// GRAPH-NOT: relay.let
func.func @values(%x: tensor<2xf32>) -> tensor<2xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.multiply %x, %two : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A result that has a name keeps it; its scope gives what is behind it another one.
// CHECK-LABEL: func.func @names
// CHECK-NEXT: [[E:%.*]] = relay.exp %x :
// CHECK-NEXT: [[A:%.*]] = relay.let [[E]] :
// CHECK-NEXT: [[S:%.*]] = relay.add [[A]], [[A]] :
// CHECK-NEXT: [[B:%.*]] = relay.let [[S]] :
// CHECK-NEXT: [[C:%.*]] = relay.let [[B]] :
// CHECK-NEXT: func.return [[C]]
func.func @names(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %a, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// What branches use comes first, then their condition.
// CHECK-LABEL: func.func @branches
// CHECK-NEXT: [[E:%.*]] = relay.exp %x :
// CHECK-NEXT: [[A:%.*]] = relay.let [[E]] :
// CHECK-NEXT: [[T:%.*]] = tensor.extract %c[] :
// CHECK-NEXT: [[I:%.*]] = scf.if [[T]]
// CHECK-NEXT:   [[N:%.*]] = relay.negative [[A]] :
// CHECK-NEXT:   [[B:%.*]] = relay.let [[N]] :
// CHECK-NEXT:   scf.yield [[B]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   scf.yield [[A]]
// CHECK-NEXT: }
// CHECK-NEXT: [[R:%.*]] = relay.let [[I]] :
// CHECK-NEXT: func.return [[R]]
func.func @branches(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %taken = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %taken -> (tensor<2xf32>) {
    %2 = relay.negative %0 : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %0 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// Functions are values; the body of a primitive one stays, that of a composite does not.
// CHECK-LABEL: func.func @functions
// CHECK-NEXT: [[F:%.*]] = relay.closure attributes {Primitive = 1 : i32}
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<2xf32>):
// CHECK-NEXT:   [[E:%.*]] = relay.exp [[P]] :
// CHECK-NEXT:   relay.yield [[E]]
// CHECK-NEXT: }
// CHECK-NEXT: [[G:%.*]] = relay.let [[F]] :
// CHECK-NEXT: [[H:%.*]] = relay.apply [[G]](%x) :
// CHECK-NEXT: [[I:%.*]] = relay.let [[H]] :
// CHECK-NEXT: [[J:%.*]] = relay.closure attributes {Composite = "a.exp"}
// CHECK-NEXT: ^{{.*}}([[Q:%.*]]: tensor<2xf32>):
// CHECK-NEXT:   [[K:%.*]] = relay.exp [[Q]] :
// CHECK-NEXT:   [[L:%.*]] = relay.let [[K]] :
// CHECK-NEXT:   relay.yield [[L]]
// CHECK-NEXT: }
// CHECK-NEXT: [[M:%.*]] = relay.let [[J]] :
// CHECK-NEXT: [[N:%.*]] = relay.apply [[M]]([[I]]) :
// CHECK-NEXT: [[O:%.*]] = relay.let [[N]] :
// CHECK-NEXT: func.return [[O]]
func.func @functions(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.fused %x : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.exp %p : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  }
  %2 = relay.composite "a.exp" %0 : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%q: tensor<2xf32>):
    %3 = relay.exp %q : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %3 : tensor<2xf32>
  }
  return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK-NOT: relay.let
func.func @keep_function_of_a_compiler(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Names stand in the order in which Relay visits expressions, wherever operations stood: that of the result's operands, in
// branches as well. Effects keep their order, and what nothing uses comes last.
// CHECK-LABEL: func.func @order
// CHECK-NEXT: [[X:%.*]] = relay.exp %x :
// CHECK-NEXT: [[XN:%.*]] = relay.let [[X]] :
// CHECK-NEXT: [[T:%.*]] = tensor.extract %c[] :
// CHECK-NEXT: [[I:%.*]] = scf.if [[T]]
// CHECK-NEXT:   [[N:%.*]] = relay.negative %x :
// CHECK-NEXT:   [[NN:%.*]] = relay.let [[N]] :
// CHECK-NEXT:   [[S:%.*]] = relay.sqrt %x :
// CHECK-NEXT:   [[SN:%.*]] = relay.let [[S]] :
// CHECK-NEXT:   [[D:%.*]] = relay.subtract [[NN]], [[SN]] :
// CHECK-NEXT:   [[DN:%.*]] = relay.let [[D]] :
// CHECK-NEXT:   scf.yield [[DN]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   scf.yield %x
// CHECK-NEXT: }
// CHECK-NEXT: [[IN:%.*]] = relay.let [[I]] :
// CHECK-NEXT: [[A:%.*]] = relay.add [[XN]], [[IN]] :
// CHECK-NEXT: [[AN:%.*]] = relay.let [[A]] :
// CHECK-NEXT: relay.tanh %x :
// CHECK-NEXT: func.return [[AN]]
func.func @order(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %unused = relay.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  %taken = tensor.extract %c[] : tensor<i1>
  %0 = scf.if %taken -> (tensor<2xf32>) {
    %1 = relay.sqrt %x : (tensor<2xf32>) -> tensor<2xf32>
    %2 = relay.negative %x : (tensor<2xf32>) -> tensor<2xf32>
    %3 = relay.subtract %2, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %3 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  %4 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %5 = relay.add %4, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %5 : tensor<2xf32>
}

// In the body of a composite too.
// CHECK-LABEL: func.func @composite
// CHECK: relay.closure attributes {Composite = "a.b"}
// CHECK-NEXT: ^bb0([[P:%.*]]: tensor<2xf32>):
// CHECK-NEXT: relay.negative [[P]] :
// CHECK-NEXT: relay.let
// CHECK-NEXT: relay.sqrt [[P]] :
func.func @composite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.composite "a.b" %x : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.sqrt %p : (tensor<2xf32>) -> tensor<2xf32>
    %2 = relay.negative %p : (tensor<2xf32>) -> tensor<2xf32>
    %3 = relay.subtract %2, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %3 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// What is written is computed in front of the reference, arguments in front of the function.
// CHECK-LABEL: func.func @behind
// CHECK-NEXT: [[E:%.*]] = relay.exp %x :
// CHECK-NEXT: [[EN:%.*]] = relay.let [[E]] :
// CHECK-NEXT: [[R:%.*]] = relay.tuple_get_item %t[0] :
// CHECK-NEXT: [[RN:%.*]] = relay.let [[R]] :
// CHECK-NEXT: relay.ref_write [[RN]], [[EN]] :
// CHECK: [[N:%.*]] = relay.negative %x :
// CHECK-NEXT: [[NN:%.*]] = relay.let [[N]] :
// CHECK-NEXT: [[F:%.*]] = relay.tuple_get_item %t[1] :
// CHECK-NEXT: [[FN:%.*]] = relay.let [[F]] :
// CHECK-NEXT: relay.apply [[FN]]([[NN]]) :
func.func @behind(%x: tensor<2xf32>, %t: tuple<!relay.ref<tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>>) -> tensor<2xf32> {
  %r = relay.tuple_get_item %t[0] : (tuple<!relay.ref<tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>>) -> !relay.ref<tensor<2xf32>>
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %done = relay.ref_write %r, %0 : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
  %named = relay.let %done : (tuple<>) -> tuple<>
  %f = relay.tuple_get_item %t[1] : (tuple<!relay.ref<tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %1 = relay.negative %x : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.apply %f(%1) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

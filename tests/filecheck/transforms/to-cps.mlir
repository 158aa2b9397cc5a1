// RUN: xdsl-opt -p to-cps %s | filecheck %s
// RUN: xdsl-opt -p to-cps,un-cps %s | filecheck %s --check-prefix DIRECT
// RUN: xdsl-opt -p to-cps,un-cps,un-cps %s | filecheck %s --check-prefix DIRECT

relay.type_def @Option ["A"] [#relay.constructor<"Some", [!relay.type_var<"A">]>, #relay.constructor<"None", []>]

// CHECK-LABEL: func.func @operators(%x: tensor<2xf32>, %k: !relay.fn<(tensor<2xf32>) -> !relay.type_var<"answer">>) -> !relay.type_var<"answer"> attributes {relay.type_params = ["answer"]} {
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: [[R:%.*]] = relay.apply %k([[E]])
// CHECK-NEXT: func.return [[R]]
// DIRECT-LABEL: func.func @operators(%x: tensor<2xf32>) -> tensor<2xf32> {
// DIRECT-NEXT: [[K:%.*]] = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
// DIRECT-NEXT: ^{{.*}}([[V:%.*]]: tensor<2xf32>):
// DIRECT-NEXT:   relay.yield [[V]]
// DIRECT-NEXT: }
// DIRECT-NEXT: [[F:%.*]] = relay.global_var @operators_cps
// DIRECT-NEXT: [[R:%.*]] = relay.apply [[F]](%x, [[K]])
// DIRECT-NEXT: func.return [[R]]
// DIRECT-NEXT: }
// DIRECT-NEXT: func.func private @operators_cps(%x: tensor<2xf32>, %k: !relay.fn<(tensor<2xf32>) -> !relay.type_var<"answer">>) -> !relay.type_var<"answer">
func.func @operators(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// What follows a call is its continuation; a call at the end gets the one that is there.
// CHECK-LABEL: func.func @calls
// CHECK-NEXT: [[C:%.*]] = relay.closure : !relay.fn<(tensor<2xf32>) -> !relay.type_var<"answer">> {
// CHECK-NEXT: ^{{.*}}([[V:%.*]]: tensor<2xf32>):
// CHECK-NEXT:   [[T:%.*]] = relay.tanh [[V]]
// CHECK-NEXT:   [[F:%.*]] = relay.global_var @operators
// CHECK-NEXT:   [[R:%.*]] = relay.apply [[F]]([[T]], %k)
// CHECK-NEXT:   relay.yield [[R]]
// CHECK-NEXT: }
// CHECK-NEXT: [[F2:%.*]] = relay.global_var @operators
// CHECK-NEXT: [[R2:%.*]] = relay.apply [[F2]](%x, [[C]])
// CHECK-NEXT: func.return [[R2]]
// DIRECT-LABEL: func.func private @calls_cps
// DIRECT: relay.global_var @operators_cps
func.func @calls(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @operators(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.tanh %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = func.call @operators(%1) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @branches
// CHECK-NEXT: [[J:%.*]] = relay.closure {{.*}} {
// CHECK-NEXT: ^{{.*}}([[A:%.*]]: tensor<2xf32>, [[B:%.*]]: tensor<2xf32>):
// CHECK-NEXT:   [[S:%.*]] = relay.add [[A]], [[B]]
// CHECK-NEXT:   [[R:%.*]] = relay.apply %k([[S]], %x)
// CHECK-NEXT:   relay.yield [[R]]
// CHECK-NEXT: }
// CHECK-NEXT: [[I:%.*]] = scf.if %c -> (!relay.type_var<"answer">) {
// CHECK-NEXT:   [[R1:%.*]] = relay.apply [[J]](%x, %x)
// CHECK-NEXT:   scf.yield [[R1]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   [[E:%.*]] = relay.exp %x
// CHECK-NEXT:   [[R2:%.*]] = relay.apply [[J]]([[E]], %x)
// CHECK-NEXT:   scf.yield [[R2]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return [[I]]
// Two results are a tuple on the way.
// DIRECT-LABEL: func.func @branches(%c: i1, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// DIRECT:      [[P:%.*]] = relay.apply
// DIRECT-NEXT: [[P0:%.*]] = relay.tuple_get_item [[P]][0]
// DIRECT-NEXT: [[P1:%.*]] = relay.tuple_get_item [[P]][1]
// DIRECT-NEXT: func.return [[P0]], [[P1]]
func.func @branches(%c: i1, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0, %1 = scf.if %c -> (tensor<2xf32>, tensor<2xf32>) {
    scf.yield %x, %x : tensor<2xf32>, tensor<2xf32>
  } else {
    %2 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2, %x : tensor<2xf32>, tensor<2xf32>
  }
  %3 = relay.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3, %x : tensor<2xf32>, tensor<2xf32>
}

// A branch that is not there gives control to what follows.
// CHECK-LABEL: func.func @effect(%c: i1, %r: !relay.ref<tensor<f32>>, %x: tensor<f32>
// CHECK-NEXT: [[J:%.*]] = relay.closure : !relay.fn<() -> !relay.type_var<"answer">> {
// CHECK-NEXT:   [[V:%.*]] = relay.ref_read %r
// CHECK:      scf.if %c
// CHECK-NEXT:   relay.ref_write %r, %x
// CHECK-NEXT:   relay.apply [[J]]()
// CHECK:      } else {
// CHECK-NEXT:   relay.apply [[J]]()
func.func @effect(%c: i1, %r: !relay.ref<tensor<f32>>, %x: tensor<f32>) -> tensor<f32> {
  scf.if %c {
    %0 = relay.ref_write %r, %x : (!relay.ref<tensor<f32>>, tensor<f32>) -> tuple<>
  }
  %1 = relay.ref_read %r : (!relay.ref<tensor<f32>>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @matches
// CHECK-NEXT: [[M:%.*]] = relay.match %o {{.*}} -> !relay.type_var<"answer"> {
// CHECK-NEXT: ^{{.*}}([[V:%.*]]: tensor<f32>):
// CHECK-NEXT:   [[R:%.*]] = relay.apply %k([[V]])
// CHECK-NEXT:   relay.yield [[R]]
// CHECK-NEXT: } {
// CHECK-NEXT:   [[R2:%.*]] = relay.apply %k(%x)
// CHECK-NEXT:   relay.yield [[R2]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return [[M]]
func.func @matches(%o: !relay.adt<@Option, [tensor<f32>]>, %x: tensor<f32>) -> tensor<f32> {
  %0 = relay.match %o [#relay.constructor_pattern<@Option::@Some, [#relay.var_pattern]>, #relay.wildcard_pattern] attributes {complete} : (!relay.adt<@Option, [tensor<f32>]>) -> tensor<f32> {
  ^bb0(%v: tensor<f32>):
    relay.yield %v : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// Function values take a continuation as well, wherever their type stands.
// CHECK-LABEL: func.func @values
// CHECK-SAME: (%f: tuple<!relay.fn<(tensor<f32>, !relay.fn<(tensor<f32>) -> !relay.type_var<"answer_1">>) -> !relay.type_var<"answer_1">>>, %x: tensor<f32>, %k: !relay.fn<(tensor<f32>) -> !relay.type_var<"answer_1">>) -> !relay.type_var<"answer_1"> attributes {relay.type_params = ["answer", "answer_1"]}
// CHECK-NEXT: [[G:%.*]] = relay.closure : !relay.fn<(tensor<f32>, !relay.fn<(tensor<f32>) -> !relay.type_var<"answer_1">>) -> !relay.type_var<"answer_1">> {
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<f32>, [[K:%.*]]: !relay.fn<(tensor<f32>) -> !relay.type_var<"answer_1">>):
// CHECK-NEXT:   [[H:%.*]] = relay.tuple_get_item %f[0]
// CHECK-NEXT:   [[R:%.*]] = relay.apply [[H]]([[P]], [[K]])
// CHECK-NEXT:   relay.yield [[R]]
// CHECK-NEXT: }
// CHECK-NEXT: [[R2:%.*]] = relay.apply [[G]](%x, %k)
func.func @values(%f: tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>>, %x: tensor<f32>) -> tensor<f32> attributes {relay.type_params = ["answer"]} {
  %g = relay.closure : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%p: tensor<f32>):
    %h = relay.tuple_get_item %f[0] : (tuple<!relay.fn<(tensor<f32>) -> tensor<f32>>>) -> !relay.fn<(tensor<f32>) -> tensor<f32>>
    %0 = relay.apply %h(%p) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
    relay.yield %0 : tensor<f32>
  }
  %1 = relay.apply %g(%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// What another compiler takes is called as it was; as a value it is called by one that takes a continuation.
// CHECK-LABEL: func.func @foreign_calls
// CHECK:      relay.closure
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<f32>, [[K:%.*]]: {{.*}}):
// CHECK-NEXT:   [[C:%.*]] = func.call @keep_what_another_compiler_takes([[P]])
// CHECK-NEXT:   relay.apply [[K]]([[C]])
// CHECK:      func.call @keep_what_another_compiler_takes(%x)
// DIRECT-LABEL: func.func private @foreign_calls_cps
// DIRECT: func.call @keep_what_another_compiler_takes(%x)
func.func @foreign_calls(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.global_var @keep_what_another_compiler_takes : !relay.fn<(tensor<f32>) -> tensor<f32>>
  %0 = func.call @keep_what_another_compiler_takes(%x) : (tensor<f32>) -> tensor<f32>
  %r = relay.ref_create %f : (!relay.fn<(tensor<f32>) -> tensor<f32>>) -> !relay.ref<!relay.fn<(tensor<f32>) -> tensor<f32>>>
  %g = relay.ref_read %r : (!relay.ref<!relay.fn<(tensor<f32>) -> tensor<f32>>>) -> !relay.fn<(tensor<f32>) -> tensor<f32>>
  %1 = relay.apply %g(%0) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_what_another_compiler_takes(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "other"}
// DIRECT-LABEL: func.func @keep_what_another_compiler_takes(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "other"}
func.func @keep_what_another_compiler_takes(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "other"} {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// The function of a `relay.fused` is an operator.
// CHECK-LABEL: func.func @fused(%x: tensor<f32>, %k:
// CHECK-NEXT: [[F:%.*]] = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
// CHECK:      [[N:%.*]] = relay.let [[F]]
// CHECK-NEXT: [[A:%.*]] = relay.apply [[N]](%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: [[T:%.*]] = relay.tanh [[A]]
// CHECK-NEXT: relay.apply %k([[T]])
func.func @fused(%x: tensor<f32>) -> tensor<f32> {
  %kernel = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%p: tensor<f32>):
    %0 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    relay.yield %0 : tensor<f32>
  }
  %name = relay.let %kernel : (!relay.fn<(tensor<f32>) -> tensor<f32>>) -> !relay.fn<(tensor<f32>) -> tensor<f32>>
  %1 = relay.apply %name(%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  %2 = relay.tanh %1 : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// RUN: xdsl-opt -p recursion-to-loops %s | filecheck %s
// RUN: xdsl-opt -p recursion-to-loops,recursion-to-loops %s | filecheck %s
// RUN: xrelay-opt -p recursion-to-loops --verify-semantics %s 2>&1 | filecheck %s --check-prefix MEANING

// MEANING: the results of @last, @literal, @keep_sum, @keep_both, @keep_exchanged, @keep_in_a_loop stay the same in 1 passes

// A call that is the last thing in a branch in a branch. The bound is passed on and used from outside.
// CHECK-LABEL: func.func @last(
// CHECK-SAME: [[N:%.*]]: tensor<i32>, [[X:%.*]]: tensor<f32>, [[B:%.*]]: tensor<i32>)
// CHECK-NEXT: [[E:%.*]] = tensor.empty() : tensor<f32>
// CHECK-NEXT: [[T:%.*]] = arith.constant true
// CHECK-NEXT: {{%.*}}, {{%.*}}, [[R:%.*]] = scf.while ([[I:%.*]] = [[N]], [[Y:%.*]] = [[X]], [[S:%.*]] = [[E]], [[G:%.*]] = [[T]])
// CHECK-NEXT:   scf.condition([[G]]) [[I]], [[Y]], [[S]]
// CHECK-NEXT: } do {
// CHECK-NEXT: ^{{.*}}([[I:%.*]]: tensor<i32>, [[Y:%.*]]: tensor<f32>, [[S:%.*]]: tensor<f32>):
// CHECK:        relay.less [[I]], [[B]]
// CHECK:        [[O:%.*]], {{%.*}}, {{%.*}}, {{%.*}} = scf.if
// CHECK:          [[GO:%.*]] = arith.constant true
// CHECK-NEXT:     scf.yield {{%.*}}, {{%.*}}, [[S]], [[GO]]
// CHECK:          scf.if
// CHECK:            [[EX:%.*]] = relay.exp [[Y]]
// CHECK-NEXT:       [[NO:%.*]] = arith.constant false
// CHECK-NEXT:       scf.yield [[I]], [[Y]], [[EX]], [[NO]]
// CHECK:            arith.constant true
// CHECK:        scf.yield [[O]]
// CHECK:      return [[R]]
func.func @last(%n: tensor<i32>, %x: tensor<f32>, %b: tensor<i32>) -> tensor<f32> {
  %less = relay.less %n, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %c = tensor.extract %less[] : tensor<i1>
  %r = scf.if %c -> (tensor<f32>) {
    %m = relay.maximum %n, %b : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %y = relay.add %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %0 = func.call @last(%m, %y, %b) : (tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<f32>
    %1 = relay.let %0 : (tensor<f32>) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  } else {
    %equal = relay.equal %n, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = tensor.extract %equal[] : tensor<i1>
    %2 = scf.if %d -> (tensor<f32>) {
      %3 = relay.exp %x : (tensor<f32>) -> tensor<f32>
      scf.yield %3 : tensor<f32>
    } else {
      %4 = func.call @last(%b, %x, %b) : (tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<f32>
      scf.yield %4 : tensor<f32>
    }
    scf.yield %2 : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// A literal does not know itself any more. Its result is a tuple.
// CHECK-LABEL: func.func @literal(
// CHECK: [[F:%.*]] = relay.closure : !relay.fn<(tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>> {
// CHECK-NEXT: ^{{.*}}({{%.*}}: tensor<i32>, {{%.*}}: tensor<f32>):
// CHECK: tensor.empty() : tensor<i32>
// CHECK: tensor.empty() : tensor<f32>
// CHECK: relay.tuple
// CHECK: scf.while
// CHECK: relay.apply [[F]]
func.func @literal(%n: tensor<i32>, %x: tensor<f32>) -> tuple<tensor<i32>, tensor<f32>> {
  %one = relay.constant dense<1> : tensor<i32>
  %f = relay.closure attributes {recursive} : !relay.fn<(tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>> {
  ^bb0(%g: !relay.fn<(tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>>, %i: tensor<i32>, %a: tensor<f32>):
    %less = relay.less %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c = tensor.extract %less[] : tensor<i1>
    %r = scf.if %c -> (tuple<tensor<i32>, tensor<f32>>) {
      %0 = relay.tuple %i, %a : (tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>
      scf.yield %0 : tuple<tensor<i32>, tensor<f32>>
    } else {
      %zero = relay.subtract %one, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %y = relay.add %a, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %1 = relay.apply %g(%zero, %y) : (!relay.fn<(tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>>, tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>
      scf.yield %1 : tuple<tensor<i32>, tensor<f32>>
    }
    relay.yield %r : tuple<tensor<i32>, tensor<f32>>
  }
  %2 = relay.apply %f(%n, %x) : (!relay.fn<(tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>>, tensor<i32>, tensor<f32>) -> tuple<tensor<i32>, tensor<f32>>
  func.return %2 : tuple<tensor<i32>, tensor<f32>>
}

// What is done with the result of a call comes after it.
// CHECK-LABEL: func.func @keep_sum(
// CHECK-NOT: scf.while
// CHECK: return
func.func @keep_sum(%n: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %no = relay.logical_not %n : (tensor<i1>) -> tensor<i1>
  %c = tensor.extract %n[] : tensor<i1>
  %r = scf.if %c -> (tensor<f32>) {
    %0 = func.call @keep_sum(%no, %x) : (tensor<i1>, tensor<f32>) -> tensor<f32>
    %1 = relay.add %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// One call of two is not the last.
// CHECK-LABEL: func.func @keep_both(
// CHECK-NOT: scf.while
// CHECK: return
func.func @keep_both(%n: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %no = relay.logical_not %n : (tensor<i1>) -> tensor<i1>
  %c = tensor.extract %n[] : tensor<i1>
  %r = scf.if %c -> (tensor<f32>) {
    %0 = func.call @keep_both(%no, %x) : (tensor<i1>, tensor<f32>) -> tensor<f32>
    %1 = func.call @keep_both(%no, %0) : (tensor<i1>, tensor<f32>) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// The results of a call in another order are not its results.
// CHECK-LABEL: func.func @keep_exchanged(
// CHECK-NOT: scf.while
// CHECK: return
func.func @keep_exchanged(%n: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %no = relay.logical_not %n : (tensor<i1>) -> tensor<i1>
  %c = tensor.extract %n[] : tensor<i1>
  %r, %s = scf.if %c -> (tensor<f32>, tensor<f32>) {
    %0, %1 = func.call @keep_exchanged(%no, %x, %y) : (tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    scf.yield %1, %0 : tensor<f32>, tensor<f32>
  } else {
    scf.yield %x, %y : tensor<f32>, tensor<f32>
  }
  func.return %r, %s : tensor<f32>, tensor<f32>
}

// A call within a loop is not the last.
// CHECK-LABEL: func.func @keep_in_a_loop(
// CHECK-NOT: scf.while
// CHECK: return
func.func @keep_in_a_loop(%n: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %no = relay.logical_not %n : (tensor<i1>) -> tensor<i1>
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %k2 = arith.constant 2 : index
  %c = tensor.extract %n[] : tensor<i1>
  %r = scf.if %c -> (tensor<f32>) {
    %s = scf.for %i = %k0 to %k2 step %k1 iter_args(%a = %x) -> (tensor<f32>) {
      %0 = func.call @keep_in_a_loop(%no, %a) : (tensor<i1>, tensor<f32>) -> tensor<f32>
      scf.yield %0 : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  } else {
    %1 = relay.exp %x : (tensor<f32>) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  }
  func.return %r : tensor<f32>
}

// Before the last round, a result of unknown shape has two rows.
// CHECK-LABEL: func.func @unknown(
// CHECK: %[[NONE:.*]] = relay.constant dense<{{.*}}> : tensor<2xf32>
// CHECK: %[[OPEN:.*]] = tensor.cast %[[NONE]] : tensor<2xf32> to tensor<?xf32>
// CHECK: scf.while ({{.*}} = %n, {{.*}} = %[[OPEN]], {{.*}}) : (tensor<i1>, tensor<?xf32>, i1)
// CHECK: return
func.func @unknown(%n: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %no = relay.logical_not %n : (tensor<i1>) -> tensor<i1>
  %c = tensor.extract %n[] : tensor<i1>
  %r = scf.if %c -> (tensor<?xf32>) {
    %0 = func.call @unknown(%no, %x) : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %0 : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}

// A literal that is a value within itself.
// CHECK-LABEL: func.func @keep_value(
// CHECK: relay.closure attributes {recursive}
// CHECK-NOT: scf.while
// CHECK: return
func.func @keep_value(%k: !relay.fn<(!relay.fn<(tensor<f32>) -> tensor<f32>>) -> tensor<f32>>) -> !relay.fn<(tensor<f32>) -> tensor<f32>> {
  %f = relay.closure attributes {recursive} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%g: !relay.fn<(tensor<f32>) -> tensor<f32>>, %a: tensor<f32>):
    %0 = relay.apply %k(%g) : (!relay.fn<(!relay.fn<(tensor<f32>) -> tensor<f32>>) -> tensor<f32>>, !relay.fn<(tensor<f32>) -> tensor<f32>>) -> tensor<f32>
    relay.yield %0 : tensor<f32>
  }
  func.return %f : !relay.fn<(tensor<f32>) -> tensor<f32>>
}

// For another compiler.
// CHECK-LABEL: func.func @keep_theirs(
// CHECK-NOT: scf.while
// CHECK: return
func.func @keep_theirs(%n: tensor<i1>, %x: tensor<f32>) -> tensor<f32> attributes {Compiler = "theirs"} {
  %c = tensor.extract %n[] : tensor<i1>
  %r = scf.if %c -> (tensor<f32>) {
    %0 = func.call @keep_theirs(%n, %x) : (tensor<i1>, tensor<f32>) -> tensor<f32>
    scf.yield %0 : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  func.return %r : tensor<f32>
}

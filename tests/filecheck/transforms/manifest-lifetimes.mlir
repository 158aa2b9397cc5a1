// RUN: xrelay-opt -p manifest-lifetimes --split-input-file --verify-diagnostics %s | filecheck %s
// RUN: xrelay-opt -p manifest-lifetimes,manifest-lifetimes --split-input-file --verify-diagnostics %s | filecheck %s

// Parameters die too, the result does not; what nothing uses has no last use.
// CHECK-LABEL: func.func @line
// CHECK-NEXT: [[E:%.*]] = relay.add %x, %x :
// CHECK-NEXT: %a = relay.let [[E]] :
// CHECK-NEXT: [[KX:%.*]] = relay.memory.kill %x :
// CHECK-NEXT: {{.*}}relay.let [[KX]] :
// CHECK-NEXT: [[S:%.*]] = relay.multiply %a, %y :
// CHECK-NEXT: %b = relay.let [[S]] :
// CHECK-NEXT: [[KA:%.*]] = relay.memory.kill %a :
// CHECK-NEXT: {{.*}}relay.let [[KA]] :
// CHECK-NEXT: [[KY:%.*]] = relay.memory.kill %y :
// CHECK-NEXT: {{.*}}relay.let [[KY]] :
// CHECK-NEXT: func.return %b
func.func @line(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.multiply %a, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}

// Names for names go, also those of copies that stay where they are.
// CHECK-LABEL: func.func @aliases
// CHECK-NEXT: [[E:%.*]] = relay.exp %x :
// CHECK-NEXT: [[O:%.*]] = relay.on_device [[E]]
// CHECK-NEXT: %a = relay.let [[O]] :
// CHECK-NEXT: [[KX:%.*]] = relay.memory.kill %x :
// CHECK-NEXT: {{.*}}relay.let [[KX]] :
// CHECK-NEXT: [[C:%.*]] = relay.device_copy %a
// CHECK-NEXT: %f = relay.let [[C]] :
// CHECK-NEXT: [[S:%.*]] = relay.add %a, %f :
// CHECK-NEXT: %g = relay.let [[S]] :
// CHECK-NEXT: [[KA:%.*]] = relay.memory.kill %a :
// CHECK-NEXT: {{.*}}relay.let [[KA]] :
// CHECK-NEXT: [[KF:%.*]] = relay.memory.kill %f :
// CHECK-NEXT: {{.*}}relay.let [[KF]] :
// CHECK-NEXT: func.return %g
func.func @aliases(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.on_device %0 {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
  %b = relay.let %a : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.on_device %b {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %c = relay.let %2 : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.device_copy %c {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>, dst_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %d = relay.let %3 : (tensor<2xf32>) -> tensor<2xf32>
  %4 = relay.device_copy %d {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>, dst_virtual_device = #relay.virtual_device<1 : i64, 1 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %f = relay.let %4 : (tensor<2xf32>) -> tensor<2xf32>
  %5 = relay.add %d, %f : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %g = relay.let %5 : (tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}

// %x ends in the branch that uses it last and is the result of the other one; %y is used behind the branches; %c is
// done with when they are.
// CHECK-LABEL: func.func @branches
// CHECK: scf.if
// CHECK-NEXT: [[S:%.*]] = relay.add %x, %y :
// CHECK-NEXT: %a = relay.let [[S]] :
// CHECK-NEXT: [[KX:%.*]] = relay.memory.kill %x :
// CHECK-NEXT: {{.*}}relay.let [[KX]] :
// CHECK-NEXT: scf.yield %a
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %x
// CHECK-NEXT: }
// CHECK-NEXT: %b = relay.let
// CHECK-NEXT: [[KC:%.*]] = relay.memory.kill %c :
// CHECK-NEXT: {{.*}}relay.let [[KC]] :
// CHECK-NEXT: [[M:%.*]] = relay.multiply %b, %y :
// CHECK-NEXT: %d = relay.let [[M]] :
// CHECK-NEXT: {{.*}}relay.memory.kill %y :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %b :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: func.return %d
func.func @branches(%x: tensor<2xf32>, %y: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %taken = tensor.extract %c[] : tensor<i1>
  %0 = scf.if %taken -> (tensor<2xf32>) {
    %1 = relay.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %a = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %a : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  %b = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.multiply %b, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %d = relay.let %2 : (tensor<2xf32>) -> tensor<2xf32>
  return %d : tensor<2xf32>
}

// What a function takes from outside lives until it is made, and not shorter within it: calls may come again.
// CHECK-LABEL: func.func @captured
// CHECK: relay.closure
// CHECK-NEXT: ^bb0(%p: tensor<2xf32>):
// CHECK-NEXT: [[S:%.*]] = relay.add %p, %x :
// CHECK-NEXT: %a = relay.let [[S]] :
// CHECK-NEXT: {{.*}}relay.memory.kill %p :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: relay.yield %a
// CHECK-NEXT: }
// CHECK-NEXT: %f = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %x :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: {{.*}}relay.apply %f(%y)
// CHECK-NEXT: %b = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %y :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: {{.*}}relay.apply %f(%b)
// CHECK-NEXT: %c = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %f :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %b :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: func.return %c
func.func @captured(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.add %p, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %a = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %a : tensor<2xf32>
  }
  %f = relay.let %0 : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %2 = relay.apply %f(%y) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %b = relay.let %2 : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.apply %f(%b) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %c = relay.let %3 : (tensor<2xf32>) -> tensor<2xf32>
  return %c : tensor<2xf32>
}

// A recursive function does not end itself, and a primitive one stays as it is.
// CHECK-LABEL: func.func @functions
// CHECK: relay.closure attributes {Primitive = 1 : i32}
// CHECK-NEXT: ^bb0(%p: tensor<2xf32>):
// CHECK-NEXT: {{.*}}relay.exp %p :
// CHECK-NEXT: relay.yield
// CHECK: recursive
// CHECK-NEXT: ^bb0(%self: !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, %q: tensor<2xf32>):
// CHECK-NEXT: {{.*}}relay.apply %self(%q)
// CHECK-NEXT: %r = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %q :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: relay.yield %r
// CHECK: relay.tuple %f, %g
// CHECK-NEXT: %t = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %f :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %g :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: func.return %x
func.func @functions(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.exp %p : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  }
  %f = relay.let %0 : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %2 = relay.closure attributes {recursive} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%self: !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, %q: tensor<2xf32>):
    %3 = relay.apply %self(%q) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
    %r = relay.let %3 : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %r : tensor<2xf32>
  }
  %g = relay.let %2 : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %4 = relay.tuple %f, %g : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>) -> tuple<!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>>
  %t = relay.let %4 : (tuple<!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>>) -> tuple<!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>>
  return %x : tensor<2xf32>
}

// What a primitive function takes from outside is used where that is made.
// CHECK-LABEL: func.func @held
// CHECK: %f = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %x :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: func.return %f
func.func @held(%x: tensor<2xf32>) -> !relay.fn<() -> tensor<2xf32>> {
  %0 = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<() -> tensor<2xf32>> {
    %1 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  }
  %f = relay.let %0 : (!relay.fn<() -> tensor<2xf32>>) -> !relay.fn<() -> tensor<2xf32>>
  return %f : !relay.fn<() -> tensor<2xf32>>
}

// A clause whose pattern is one variable has another name for the data.
// CHECK-LABEL: func.func @clauses
// CHECK: relay.match %t
// CHECK-NEXT: ^bb0([[U:%.*]]: tuple<tensor<2xf32>>):
// CHECK-NEXT: {{.*}}relay.tuple_get_item %t[0]
// CHECK-NEXT: %a = relay.let
// CHECK-NEXT: {{.*}}relay.memory.kill %t :
// CHECK-NEXT: {{.*}}relay.let
// CHECK-NEXT: relay.yield %a
// CHECK-NEXT: }
// CHECK-NEXT: %b = relay.let
// CHECK-NEXT: func.return %b
func.func @clauses(%t: tuple<tensor<2xf32>>) -> tensor<2xf32> {
  %0 = relay.match %t [#relay.var_pattern] attributes {complete} : (tuple<tensor<2xf32>>) -> tensor<2xf32> {
  ^bb0(%u: tuple<tensor<2xf32>>):
    %1 = relay.tuple_get_item %u[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    %a = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %a : tensor<2xf32>
  }
  %b = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_foreign
// CHECK-NOT: relay.memory.kill
func.func @keep_foreign(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: func.return uses the result of relay.exp, expected a name for it (to-a-normal-form)
func.func @no_names(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// RUN: not xrelay-opt -p apply-placement %s 2>&1 | filecheck %s --check-prefix NONE
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/missing.json"}' %s 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/around.json"}' %s 2>&1 | filecheck %s --check-prefix AROUND
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/overlapping.json"}' %s 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/unknown-engine.json"}' %s 2>&1 | filecheck %s --check-prefix ENGINE
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/nested-outside.json"}' %s 2>&1 | filecheck %s --check-prefix NESTED
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/another-operator.json"}' %s 2>&1 | filecheck %s --check-prefix OTHER
// RUN: not xrelay-opt -p 'apply-placement{file="%S/inputs/each-other.json"}' %s 2>&1 | filecheck %s --check-prefix MODEL
// RUN: not xrelay-opt -p 'apply-placement{file="%s"}' %s 2>&1 | filecheck %s --check-prefix JSON

func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = relay.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %sum = relay.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %left = relay.tanh %sum : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %right = relay.exp %sum : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %both = relay.multiply %left, %right : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %product = relay.nn.dense %both, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  %positive = relay.nn.relu %product : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %positive : tensor<2x2xf32>
}

// NONE:    pass 'apply-placement': 'file' is empty, expected the plan of `xrelay place`
// MISSING: pass 'apply-placement': cannot read '{{.*}}missing.json': No such file or directory
// AROUND:  around.json': regions[0] cannot be a region: node 4 needs its results and is needed by it
// TWICE:   overlapping.json': regions[1] has node 3, which another region has
// ENGINE:  unknown-engine.json': 'engine' of regions[0] is 'slow', expected one of host, default, fast, plain
// NESTED:  nested-outside.json': regions[0] has nested nodes that are not its own
// OTHER:   another-operator.json': regions[0] has 'exp' at node 2, the model 'add'
// MODEL:   each-other.json': the plan is for another model: operators, shapes or attributes differ
// JSON:    apply-placement-invalid.mlir' is no plan: not JSON: Expecting value: line 1 column 1 (char 0)

// RUN: xdsl-opt -p 'apply-fusion-plan{file="%S/inputs/fusion-plan.json"}' %s | filecheck %s --check-prefix LINKED
// RUN: xdsl-opt -p 'apply-fusion-plan{file="%S/inputs/fusion-plan.json" link-params=false}' %s | filecheck %s --check-prefix APART
// RUN: xrelay explain %s --plan-json %t.json
// RUN: xdsl-opt -p 'apply-fusion-plan{file="%t.json"}' %s | filecheck %s --check-prefix APART
// RUN: xdsl-opt -p 'apply-fusion-plan{file="%t.json" link-params=true}' %s | filecheck %s --check-prefix LINKED
// RUN: not xrelay-opt -p 'apply-fusion-plan{file="%S/inputs/missing.json"}' %s 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not xrelay-opt -p 'apply-fusion-plan{file="%S/inputs/npu.toml"}' %s 2>&1 | filecheck %s --check-prefix JSON

// The file says whether constants move into groups, and the option, where it is given, says it in its place.
// LINKED-LABEL: func.func @main
// LINKED-NEXT: relay.fused %x :
// LINKED: relay.constant
// LINKED-NEXT: relay.add
// LINKED-NEXT: relay.tanh
// APART-LABEL: func.func @main
// APART-NEXT: [[C:%.*]] = relay.constant
// APART-NEXT: relay.fused %x, [[C]] :
// APART: relay.add
// APART-NEXT: relay.tanh
// MISSING: missing.json': No such file or directory
// JSON: npu.toml': not JSON:
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = relay.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// RUN: xdsl-opt -p 'simplify-expr{rules=relax}' --verify-diagnostics %s | filecheck %s

// CHECK: 'rules' is 'relax', expected one of relay, cpu; did you mean 'relay'?
func.func @f() {
  return
}

"""The static call graph."""

from __future__ import annotations

from lapilli.ir.call_graph import CallGraph, entry_points, function_name
from lapilli.ir.parse import parse_module

MODULE = """
func.func @k(%c: i1) attributes {gpu.kernel} {
  scf.if %c { func.call @f() : () -> () }
  func.call @f() : () -> ()
  func.return
}
func.func private @f() { func.call @g() : () -> ()  func.return }
func.func private @g() { func.call @f() : () -> ()  func.return }
func.func private @alone() { func.return }
func.func private @imported() -> () attributes {aspect.external}
func.func @exported() attributes {aspect.external} { func.return }
"gpu.module"() <{sym_name = "m"}> ({
  "gpu.func"() <{function_type = () -> (), kernel}> ({
    "gpu.return"() : () -> ()
  }) {sym_name = "inner"} : () -> ()
}) : () -> ()
"""


def test_calls_are_found_in_nested_regions_and_in_order() -> None:
    graph = CallGraph.of(parse_module(MODULE).module)
    calls = {function_name(f): [function_name(c.callee) for c in made] for f, made in graph.calls.items()}
    assert calls == {
        "k": ["f", "f"],
        "f": ["g"],
        "g": ["f"],
        "alone": [],
        "imported": [],
        "exported": [],
        "inner": [],
    }


def test_callers_are_the_calls_turned_round() -> None:
    graph = CallGraph.of(parse_module(MODULE).module)
    callers = {function_name(f): [function_name(c) for c, _ in edges] for f, edges in graph.callers().items()}
    assert callers["f"] == ["k", "k", "g"]
    assert callers["g"] == ["f"]


def test_reachability_ends_on_cycles() -> None:
    graph = CallGraph.of(parse_module(MODULE).module)
    kernel = graph.functions[0]
    assert {function_name(f) for f in graph.reachable([kernel])} == {"k", "f", "g"}


def test_entry_points_are_kernels_and_exported_definitions() -> None:
    names = [function_name(f) for f in entry_points(parse_module(MODULE).module)]
    assert names == ["k", "exported", "inner"]

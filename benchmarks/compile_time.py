"""Compile time: Python source to validated SPIR-V in a warm process, in CPU time, by stage.

    python -m benchmarks.compile_time [--rounds N] [--device NAME] [--profile] [--save]

The kernels are straight code with branches, calls and a loop, of 60 and of 200 operations (arithmetic, comparisons,
loads, stores, calls of functions) in their source.  Every round compiles each kernel once, as the first launch
does; CPU time is what other programs disturb least, and the smallest of the rounds and their median are shown.
``--profile`` shows the shares of the compiler's parts and lists the functions that take the most time of their own.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import pstats
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels, compile_kernels, load_compiler
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.target_env import TargetEnv

HEAD = """
import lapilli as lp

def weigh(v, w):
    return v * w + 0.5

@lp.kernel
def k(x: lp.Array[lp.f32], y: lp.Array[lp.f32], n: lp.i32):
    i = lp.global_id(0)
    v = x[i]
    acc = 0.0
    for j in range(n):
        acc = acc * v + weigh(x[i + j], 2.0)
"""
STEP = """
    t{0} = weigh(acc, v) - v / (acc + {0}.25)
    if t{0} > {0}.0 and v < {0}.5:
        acc += lp.math.sqrt(t{0}) + x[i + {0}]
    v = v * 0.5 + min(t{0}, acc)
"""
TAIL = """
    y[i] = v + acc
"""
SIZES = (60, 200)
"""Operations of the kernels."""
LIMITS_MS = {60: 10.0, 200: 25.0}
"""Milliseconds that they should take at most."""
PARTS = (
    ("the whole", "frontend/compile.py", "compile_kernels"),
    ("front end", "frontend/builder.py", "build_module"),
    ("  source to syntax tree", "frontend/source.py", "of"),
    ("  types of variables", "frontend/inference.py", "infer_types"),
    ("passes", "passes/pipeline.py", "analyse"),
    ("  aspects", "passes/aspect_usage.py", "of"),
    ("  optimiser", "passes/optimise/pipeline.py", "optimise"),
    ("lowering", "passes/pipeline.py", "lower_image"),
    ("emission and validation", "spirv/build_image.py", "build_image"),
    ("  emission", "spirv/emit.py", "emit"),
    ("  SPIRV-Tools", "spirv/tools_library.py", "validate"),
    ("all new operations", "ir/create.py", "create"),
    ("  and by xDSL", "xdsl/ir/core.py", "create"),
    ("isinstance of abstract classes", "<frozen abc>", "__instancecheck__"),
)
"""Parts of a compilation that a profile shows: what, file and function."""
_OPERATIONS = (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.Subscript, ast.AugAssign)


def operation_count(source: str) -> int:
    """Returns how many operations the functions of a source have."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    statements = [statement for function in functions for statement in function.body]
    return sum(isinstance(node, _OPERATIONS) for s in statements for node in ast.walk(s))


def source_of(operations: int) -> str:
    """Returns a kernel of so many operations: whole steps, and sums for the rest."""
    body, number = HEAD, 1
    while operation_count(body + STEP.format(number) + TAIL) <= operations:
        body += STEP.format(number)
        number += 1
    rest = operations - operation_count(body + TAIL)
    return body + "".join(f"    v = v + {k}.25\n" for k in range(rest)) + TAIL


def stages(kernel: KernelFunction, env: TargetEnv) -> dict[str, Callable[[], object]]:
    """Returns the stages of a compilation, to be called in order."""
    from lapilli.frontend.builder import build_module
    from lapilli.passes.pipeline import analyse, lower_image
    from lapilli.spirv.build_image import build_image

    made: dict[str, object] = {}

    def keep(name: str, make: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            made[name] = make()
            return made[name]

        return run

    return {
        "front end": keep("module", lambda: build_module([kernel], rank=1)),
        "passes": keep("analysis", lambda: analyse(made["module"], env, mode="off", is_ours=True)),  # pyright: ignore
        "lowering": keep("lowered", lambda: lower_image(made["analysis"].images[0], env)),  # pyright: ignore
        "emission and validation": keep("image", lambda: build_image(made["lowered"], env)),  # pyright: ignore
    }


def measure(operations: int, rounds: int, env: TargetEnv) -> dict[str, list[float]]:
    """Returns the CPU times of each stage and of the whole compilation, in milliseconds."""
    source = source_of(operations)
    found: dict[str, list[float]] = {}
    for number in range(rounds + 3):
        kernel = lp.kernel_from_source(source, name="k")
        begin = time.process_time()
        compile_kernels([kernel], env, rank=1)
        times = {"whole": time.process_time() - begin}
        for name, run in stages(lp.kernel_from_source(source, name="k"), env).items():
            begin = time.process_time()
            run()
            times[name] = time.process_time() - begin
        if number >= 3:  # the first rounds fill caches of types and formats
            for name, value in times.items():
                found.setdefault(name, []).append(value * 1e3)
    return found


def print_shares(operations: int, rounds: int) -> None:
    """Prints the shares of the compiler's parts in CPU time, by samples of the stack.

    A profiler that counts calls makes those of Python functions several times dearer.
    """
    kernels = [lp.kernel_from_source(source_of(operations), name="k") for _ in range(rounds)]
    samples: Counter[str] = Counter()

    def sample(_number: int, frame: FrameType | None) -> None:
        on_stack: set[tuple[str, str]] = set()
        while frame is not None:
            code = frame.f_code
            on_stack.add((code.co_filename, code.co_name))
            frame = frame.f_back
        samples.update(
            {part for part, end, name in PARTS if any(f.endswith(end) and n == name for f, n in on_stack)}
        )

    before = signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, 1e-3, 1e-3)
    try:
        for kernel in kernels:
            compile_kernels([kernel], TargetEnv(), rank=1)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    whole = samples[PARTS[0][0]]
    print(f"{operations} operations, {rounds} compilations, {whole} samples:")
    for part, _, _ in PARTS:
        print(f"    {part:32}{samples[part] / whole:7.1%}")


def print_profile(operations: int, rounds: int) -> None:
    """Prints the functions that take the most time of their own."""
    kernels = [lp.kernel_from_source(source_of(operations), name="k") for _ in range(rounds)]
    profile = cProfile.Profile()
    profile.enable()
    for kernel in kernels:
        compile_kernels([kernel], TargetEnv(), rank=1)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(40)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--device", metavar="NAME", help="compile for a device, with what its driver needs")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--save", action="store_true", help="write the times into benchmarks/results")
    options = parser.parse_args(arguments)
    env = lp.device(options.device).target_env if options.device else TargetEnv()
    load_compiler()
    found: dict[str, list[float]] = {}
    for operations in SIZES:
        kernel = lp.kernel_from_source(source_of(operations), name="k")
        module = analyse_kernels([kernel], env, rank=1).images[0].module
        ir_count = sum(1 for _ in module.walk())
        times = measure(operations, options.rounds, env)
        found |= {f"{operations} operations: {name}": values for name, values in times.items()}
        limit = LIMITS_MS[operations]
        print(
            f"{operation_count(source_of(operations))} operations, {ir_count} of IR; ms of CPU time, "
            f"smallest / median of {options.rounds} (limit {limit:g}):"
        )
        for name, values in times.items():
            print(f"    {name:26}{min(values):6.1f} / {statistics.median(values):.1f}")
    if options.save:
        from .saved_times import save_times

        print(save_times("compile", "python -m benchmarks.compile_time", "ms of CPU time", found))
    if options.profile:
        print_shares(SIZES[-1], 8 * options.rounds)
        print_profile(SIZES[-1], options.rounds)


if __name__ == "__main__":
    main()

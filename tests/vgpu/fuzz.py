"""Mutate the PTX of real kernels and run it; the only permitted outcomes are success and forgekit's
own errors.

    python -m tests.vgpu.fuzz --mutants 10000 --seed 1

counts the outcomes and prints the failures: exceptions of other kinds, and mutants that run long
past their budget. All choices derive from the seed, so `--only N` runs mutant N again; it also
prints the mutant's text.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO

import forgekit as fk
import forgekit.vgpu
from forgekit.vgpu import opcodes
from forgekit.vgpu.errors import ForgekitError, KernelError
from forgekit.vgpu.host import launching
from forgekit.vgpu.launch_record import LaunchRecord
from forgekit.vgpu.listeners import Listener
from forgekit.vgpu.memory import Allocation, GlobalMemory
from forgekit.vgpu.program import load
from tests.sanitizer import bank

BUDGET = 1500  # instructions; every unmutated kernel here needs fewer
LONGEST_S = 10.0

# The bank's kernels to fuzz; together, they use most instructions that the compiler emits.
KERNELS = (
    "swizzled_transpose", "any_negative", "half_elements", "uniform_branch", "shared_atomics",
    "token", "copying_warp", "grid_barrier", "lock",
)  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """A launch to repeat with mutated PTX: the kernel's text, its geometry, and the memory before
    the launch."""

    name: str
    text: str
    record: LaunchRecord
    memory: GlobalMemory

    def fresh_memory(self) -> GlobalMemory:
        """Return memory with the same addresses and copies of the data."""
        memory = GlobalMemory()
        memory.allocations = [
            Allocation(a.address, a.data.copy(), a.real_address, a.regions)
            for a in self.memory.allocations
        ]
        memory.starts, memory._next = self.memory.starts, self.memory._next
        return memory


class _Launches(Listener):
    """Record each launch at its start."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[LaunchRecord, GlobalMemory]] = {}

    def on_batch(self, m) -> None:
        if m.record.kernel not in self.found:
            kept = Launch("", "", m.record, m.memory).fresh_memory()
            # Each launch assigns addresses to module variables again.
            names = set(m.record.symbols)
            kept.allocations = [a for a in kept.allocations if a.regions[0].info.name not in names]
            if names:
                kept._next = min(m.record.symbols.values())
            kept.starts = kept.starts[: len(kept.allocations)]
            self.found[m.record.kernel] = m.record, kept


def corpus(names: tuple[str, ...] | None = None) -> list[Launch]:
    """Return the launches of the bank's correct kernels with these names (None: all)."""
    launches = []
    for family in bank.families():
        if names is not None and family.name not in names:
            continue
        args, seen = family.args(), _Launches()
        with fk.use_target("virtual"):
            compiled = bank.compile_correct(family, args)
            with forgekit.vgpu.options(listeners=(seen,), sanitize=False, progress=False):
                compiled(*args)
        launches += [
            Launch(kernel, compiled.ptx, replace(record, symbols={}), memory)
            for kernel, (record, memory) in seen.found.items()
        ]
    return launches


# -- mutations ------------------------------------------------------------------------------------
TYPES = ("b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16", "b32", "u32", "s32", "f32", "f16x2",
         "bf16x2", "b64", "u64", "s64", "f64", "f32x2", "b128", "pred", "e4m3x2")  # fmt: skip
PARTS = ("sync", "aligned", "v2", "v4", "v8", "ftz", "rn", "rz", "sat", "relu", "wide", "hi", "lo",
         "cc", "global", "shared", "local", "param", "const", "shared::cluster", "acquire", "cas",
         "add", "exch", "bfly", "idx", "ballot", "any", "all", "x", "approx", "uni", "volatile",
         "wait_group", "commit_group", "bulk", "tensor", "arrive", "red", "expect_tx")  # fmt: skip
NUMBERS = ("0", "1", "-1", "2", "3", "5", "7", "31", "32", "33", "63", "64", "255", "256", "65535",
           "1024", "2147483647", "-2147483648", "4294967295", "4294967296", "9223372036854775807",
           "-9223372036854775808", "18446744073709551615", "36893488147419103232", "0f7FC00000",
           "0fFF800000", "0d7FF0000000000000", "WARP_SZ", "0x", "1.5")  # fmt: skip
SPECIAL = ("%tid.x", "%ctaid.z", "%laneid", "%clock64", "%lanemask_lt", "%nothing", "_", "%smid",
           "%dynamic_smem_size", "%is_explicit_cluster")  # fmt: skip
_INSTRUCTION = re.compile(r"^\s*(@!?%\w+\s+)?([a-z][\w.:]*)(\s+[^;]*)?;")
_REGISTER = re.compile(r"%[a-z]+\d+\b")
_NUMBER = re.compile(r"(?<![\w%$.])-?\d\w*\b")

Mutation = Callable[[random.Random, list[str], int], None]


def _sub(draw: random.Random, pattern: re.Pattern[str], line: str, make: Callable) -> str:
    """Return the line with one match of the pattern replaced."""
    found = list(pattern.finditer(line))
    if not found:
        return line
    one = draw.choice(found)
    return line[: one.start()] + str(make(one[0])) + line[one.end() :]


def rename_register(draw: random.Random, lines: list[str], at: int) -> None:
    """Rename a register, usually to one of the same type."""
    everything = sorted(set(_REGISTER.findall("\n".join(lines))))

    def other(name: str) -> str:
        kind = name.rstrip("0123456789")
        same = [r for r in everything if r.rstrip("0123456789") == kind]
        return draw.choice(same if draw.random() < 0.85 else [*everything, *SPECIAL])

    lines[at] = _sub(draw, _REGISTER, lines[at], other)


def change_number(draw: random.Random, lines: list[str], at: int) -> None:
    lines[at] = _sub(draw, _NUMBER, lines[at], lambda _: draw.choice(NUMBERS))


def change_part(draw: random.Random, lines: list[str], at: int) -> None:
    """Replace a type or qualifier, add one, or remove one."""
    if (match := _INSTRUCTION.match(lines[at])) is None:
        return
    parts = match[2].split(".")
    place = draw.randrange(len(parts))
    some = draw.choice((TYPES, TYPES, PARTS))
    way = draw.random()
    if way < 0.7 and len(parts) > 1:
        parts[-1 if draw.random() < 0.7 else max(place, 1)] = draw.choice(some)
    elif way < 0.85:
        parts.insert(place + 1, draw.choice(some))
    elif len(parts) > 1:
        parts.pop(max(place, 1))
    start, stop = match.span(2)
    lines[at] = lines[at][:start] + ".".join(parts) + lines[at][stop:]


def exchange_opcode(draw: random.Random, lines: list[str], at: int) -> None:
    """Replace the opcode by another, usually one with the same number of operands."""
    if (match := _INSTRUCTION.match(lines[at])) is None:
        return
    others = [m for line in lines if (m := _INSTRUCTION.match(line))]
    alike = [m[2] for m in others if (m[3] or "").count(",") == (match[3] or "").count(",")]
    known = [f"{name}.{draw.choice(TYPES)}" for name in sorted(opcodes.REGISTRY)]
    some = alike if alike and draw.random() < 0.6 else [*(m[2] for m in others), *known]
    start, stop = match.span(2)
    lines[at] = lines[at][:start] + draw.choice(some) + lines[at][stop:]


def change_operands(draw: random.Random, lines: list[str], at: int) -> None:
    """Exchange two operands, omit one, copy one from another line, or add one."""
    if (match := _INSTRUCTION.match(lines[at])) is None or not match[3]:
        return
    operands = [o.strip() for o in re.split(r",(?![^\[{(]*[\]})])", match[3])]
    others = [m[3] for line in lines if (m := _INSTRUCTION.match(line)) and m[3]]
    foreign = draw.choice(re.split(r",(?![^\[{(]*[\]})])", draw.choice(others))).strip()
    place, way = draw.randrange(len(operands)), draw.random()
    if way < 0.35:
        draw.shuffle(operands)
    elif way < 0.7:
        operands[place] = foreign
    elif way < 0.85:
        operands.pop(place)
    else:
        operands.insert(place, foreign)
    start, stop = match.span(3)
    lines[at] = f"{lines[at][:start]} {', '.join(operands)}{lines[at][stop:]}"


def move_lines(draw: random.Random, lines: list[str], at: int) -> None:
    """Delete a line, repeat it, or exchange it with a nearby line."""
    way, other = draw.random(), min(at + draw.randrange(1, 6), len(lines) - 1)
    if way < 0.35:
        del lines[at]
    elif way < 0.65:
        lines.insert(other, lines[at])
    else:
        lines[at], lines[other] = lines[other], lines[at]


def change_guard(draw: random.Random, lines: list[str], at: int) -> None:
    if (match := _INSTRUCTION.match(lines[at])) is None:
        return
    predicates = sorted(set(re.findall(r"%p\d+\b", "\n".join(lines)))) or ["%p1"]
    guard = draw.choice(["", f"@{draw.choice(predicates)} ", f"@!{draw.choice(predicates)} "])
    lines[at] = guard + lines[at][match.start(2) :]


def change_label(draw: random.Random, lines: list[str], at: int) -> None:
    labels = re.findall(r"^(\$\w+):", "\n".join(lines), re.M)
    branches = [i for i, line in enumerate(lines) if re.search(r"\bbra\b", line)]
    if labels and branches:
        place, label = draw.choice(branches), draw.choice(labels)
        lines[place] = re.sub(r"\$\w+", label.replace("$", r"$"), lines[place])


def noise(draw: random.Random, lines: list[str], at: int) -> None:
    """Change characters, exchange tokens of two lines, or cut the text off."""
    way, line = draw.random(), lines[at]
    if way < 0.15:
        text = "\n".join(lines)
        lines[:] = text[: draw.randrange(len(text))].split("\n")
    elif way < 0.6:
        other = draw.randrange(len(lines))
        a, b = line.split(), lines[other].split()
        if a and b:
            i, j = draw.randrange(len(a)), draw.randrange(len(b))
            a[i], b[j] = b[j], a[i]
            lines[at], lines[other] = " ".join(a), " ".join(b)
    elif line:
        place = draw.randrange(len(line))
        lines[at] = line[:place] + draw.choice("%[]{}().,;:@!|0x_\"'$-+<> aß\t") + line[place + 1 :]


MUTATIONS: tuple[tuple[Mutation, int], ...] = (
    (rename_register, 20), (change_number, 16), (change_part, 20), (exchange_opcode, 14),
    (change_operands, 10), (move_lines, 14), (change_guard, 6), (change_label, 4), (noise, 6),
)  # fmt: skip


def mutate(text: str, seed: str) -> str:
    """Return a mutant of a module, with one to three mutations, mostly in the kernel's
    instructions."""
    draw = random.Random(seed)
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(("//", ".loc"))]
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3))):
        places = [i for i, line in enumerate(lines) if _INSTRUCTION.match(line)]
        anywhere = not places or draw.random() < 0.08
        at = draw.randrange(len(lines)) if anywhere else draw.choice(places)
        (mutation,) = draw.choices([m for m, _ in MUTATIONS], [w for _, w in MUTATIONS])
        mutation(draw, lines, at)
    return "\n".join(lines)


# -- running --------------------------------------------------------------------------------------
class TooLongError(Exception):
    """Raised if a mutant continues past its budget."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(launch: Launch, text: str, *, sanitize: bool, schedule: str = "default") -> None:
    """Parse a module, and launch its kernel if it still exists."""
    programs = load.__wrapped__(text)  # uncached
    program = programs.get(launch.record.kernel)
    if program is None:
        return
    # As host code does, pass all declared parameters.
    params = launch.record.params.ljust(program.param_bytes, b"\0")
    memory = launch.fresh_memory()
    options = {"budget": BUDGET, "sanitize": sanitize, "progress": False, "schedule": schedule}
    with forgekit.vgpu.options(**options):
        launching.launch(program, replace(launch.record, params=params), memory)


@dataclass
class Report:
    """The outcomes of the mutants, and the forbidden outcomes as (number, kernel, traceback)."""

    outcomes: Counter[str]
    bad: list[tuple[int, str, str]]
    slowest_s: float = 0.0

    def __str__(self) -> str:
        total = sum(self.outcomes.values())
        lines = [f"{total:,} mutants, the slowest took {self.slowest_s:.1f} s"]
        lines += [f"  {n:7,}  {name}" for name, n in self.outcomes.most_common()]
        return "\n".join(lines)


def text_of(launch: Launch, seed: int, number: int) -> str:
    return mutate(launch.text, f"{seed}/{number}")


def fuzz(launches: list[Launch], mutants: int, seed: int, only: int | None = None) -> Report:
    """Run mutants of each kernel, alternately with and without the sanitizer."""
    report = Report(Counter(), [])
    for number in range(mutants) if only is None else [only]:
        launch = launches[number % len(launches)]
        text = text_of(launch, seed, number)
        turn = number // len(launches)
        schedule = "adversarial" if turn % 4 == 3 else "default"
        began = time.perf_counter()
        try:
            with _limit(LONGEST_S), redirect_stdout(StringIO()):
                run(launch, text, sanitize=turn % 2 == 0, schedule=schedule)
            outcome = "ran to its end"
        except KernelError as error:
            outcome = f"{type(error).__name__} {error.kind}".strip()
        except ForgekitError as error:
            outcome = type(error).__name__
        except (Exception, RecursionError) as error:
            outcome = f"RAW {type(error).__name__}"
            report.bad.append((number, launch.name, traceback.format_exc()))
        report.outcomes[outcome] += 1
        report.slowest_s = max(report.slowest_s, time.perf_counter() - began)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the virtual GPU with mutated PTX.")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run only this mutant, and print its text")
    chosen = parser.parse_args()
    launches = corpus()
    if chosen.only is not None:
        print(text_of(launches[chosen.only % len(launches)], chosen.seed, chosen.only))
    report = fuzz(launches, chosen.mutants, chosen.seed, chosen.only)
    for number, name, trace in report.bad:
        print(f"mutant {number} of {name}\n{trace}")
    print(f"{len(launches)} kernels, seed {chosen.seed}: {report}")
    return 1 if report.bad else 0


if __name__ == "__main__":
    sys.exit(main())

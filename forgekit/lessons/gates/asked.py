"""Check a kernel against the requirements in its task's last line, such as `one warp per row`.

The task's last line, the gate and the praise are generated from the same dict, so they cannot
differ.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forgekit.errors import usage_error
from forgekit.lessons.gates.counters import exact
from forgekit.lessons.gates.gate import GateError
from forgekit.lessons.gates.submission import CallKey, Case, Group, Submission
from forgekit.lessons.gates.values import check_values
from forgekit.text import plural

if TYPE_CHECKING:
    from forgekit.profiling.profile import Profile
    from forgekit.profiling.profiled_lines import Launch, ProfiledInstruction

Asked = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """A number that a task can require, such as the threads per block.

    Attributes:
        noun, rest: for example "thread" and " per block", which form "128 threads per block".
            measure: computes the number from a profile.
        most: True if smaller numbers also pass. none: the text for 0; the default has the form "no
            threads per block".
        counted: returns True for an instruction, given the required number, whose line a failed
            gate quotes. how: describes the number, if it is not a plain count. enough: if not 0,
            every number of at least this fraction of the required number passes. why_0: the reason
            for a refused 0.
            look_at: the call to suggest after a failure.
    """

    noun: str
    rest: str
    measure: Callable[[Profile], float]
    most: bool = False
    none: str = ""
    counted: Callable[[ProfiledInstruction, float], Any] | None = None
    how: str = ""
    why_0: str = ""
    enough: float = 0
    look_at: str = "fk.profile(*{failed})"

    def words(self, value: int) -> str:
        """Return text such as `no barriers`, `at most 5 shuffles per warp` or `16 bytes per
        load`."""
        if not value:
            return self.none or f"no {self.noun}s{self.rest}"
        return f"{'at most ' * self.most}{plural(value, self.noun)}{self.rest}"

    def holds(self, value: float, asked: float) -> bool:
        if self.enough:
            return value >= self.enough * asked
        return value <= asked if self.most else value == asked


def _main(p: Profile) -> Launch:
    """Return the launch that executes the most instructions, rather than one that only clears or
    merges."""
    return max(p.launches, key=lambda x: x["thread_instructions"])


def _per_warp(ptx: str) -> Callable[[Profile], float]:
    """Return a function that computes the number of these instructions per warp, in the launch in
    which it is largest. Broadcasts from lane 0 before the first load do not count, because the
    compiler adds one for the warp's index."""

    def measure(p: Profile) -> float:
        found = [0.0]
        for x in p.launches:
            warps = math.prod(x.grid) * -(-math.prod(x.block) // 32)
            every = [i for line in x.lines for i in line.instructions]
            loads = min((i.pc for i in every if re.match(_LOAD, i.text)), default=0)
            each = (i["warp_instructions"] for i in every if re.match(ptx, i.text)
                    and not (i.pc < loads and re.match(_BROADCAST, i.text)))  # fmt: skip
            found.append(sum(each) / max(warps, 1))
        return max(found)

    return measure


def _matching(ptx: str) -> Callable[[ProfiledInstruction, float], Any]:
    """Return a function that finds the instructions that match a regular expression."""
    return lambda i, needed: re.match(ptx, i.text)


def _width(i: ProfiledInstruction, kind: str) -> float:
    return i[f"{kind}_bytes_asked"] / max(i["thread_instructions"], 1)


def _mean_width(kind: str) -> Callable[[Profile], float]:
    """Return a function that computes the bytes per access by a thread, averaged over all bytes
    moved."""

    def measure(p: Profile) -> float:
        each = [(i[f"{kind}_bytes_asked"], _width(i, kind)) for line in p.all_lines
                for i in line.instructions]  # fmt: skip
        return sum(b * width for b, width in each) / max(sum(b for b, _ in each), 1)

    return measure


def _narrow(kind: str) -> Callable[[ProfiledInstruction, float], Any]:
    """Return a function that finds the accesses of fewer bytes per thread than required."""
    return lambda i, needed: 0 < _width(i, kind) < needed


def _halves(p: Profile) -> float:
    """Count 16-bit operations, minus one per stored element, because the compiler may use a 16-bit
    operation if a float32 result of two 16-bit numbers is only rounded and stored."""
    every = (i for line in p.all_lines for i in line.instructions if re.match(_HALF, i.text))
    done = sum(i["thread_instructions"] * (1 + ("x2" in i.text)) for i in every)
    return float(max(done - p["global_store_bytes_asked"] / 2, 0))


def _sharing(p: Profile) -> float:
    """Count the warps that load at least half of an equal share of the largest input, in the block
    that loads most. Return 0 if all warps may load each element. If the block loads fewer than 16
    bytes per thread, a quarter of the warps may be idle, unless the others load several times."""
    from forgekit.tracing.footprint import footprint

    assert p.call is not None
    kernel, args = p.call
    found = footprint(kernel, *args, kind="load")
    name, of = max(found.touched.items(), key=lambda x: int((x[1]["thread"] >= 0).sum()))
    loaded, every = of["thread"] >= 0, -(-math.prod(found.block) // 32)
    if not loaded.any() or of["loads"][loaded].min() >= every > 1:
        return 0.0
    blocks, warps = of["block"][loaded], of["thread"][loaded] // 32
    here = blocks == np.bincount(blocks).argmax()
    mine, threads = warps[here], of["thread"][loaded][here]
    sharing = (np.bincount(mine) >= len(mine) / every / 2).sum()
    itemsize = next(p.value.dtype.itemsize for p in kernel.parameters if p.name == name)
    few = len(mine) * itemsize < 16 * 32 * every
    runs = 1 + np.count_nonzero(np.diff(threads))  # of neighbours that the same thread loads
    at_a_time = 32 * (len(mine) // runs)  # elements that a warp loads
    enough = max(0.75 * every, min(every, len(mine) // at_a_time))
    return float(every if few and sharing >= enough else sharing)


_BLOCK = r"(bar|barrier)\.(cta\.)?(sync|arrive|red)"
_HALF = r"(add|sub|mul|fma)\.(\w+\.)*b?f16(x2)?\b"
_CLUSTER = r"barrier\.cluster\.arrive"
_BARRIER = f"{_BLOCK}|{_CLUSTER}"  # warp barriers do not count
_DOUBLE, _FLOAT = r"\S+\.f64", r"\S+\.b?f(16|32|64)"
_LOAD = r"(ld\.(\w+\.)*global|cp\.async)"
_WIDE = 0.9  # tails may be accessed one by one
_MEAN = " (mean, weighted by bytes)"
_SHUFFLE, _BROADCAST = r"shfl\.sync", r"shfl\.sync\.idx\.b32 \S+ \S+ 0, 31"

FACTS: dict[str, Fact] = {
    "launches": Fact("launch", "", lambda p: len(p.launches)),
    "blocks": Fact("block", "", lambda p: math.prod(_main(p).grid)),
    "block": Fact("thread", " per block", lambda p: math.prod(_main(p).block)),
    "first_block": Fact(
        "thread", " per block of the first launch", lambda p: math.prod(p.launches[0].block)
    ),
    "cluster": Fact("block", " per cluster", lambda p: math.prod(_main(p).cluster)),
    "sharing": Fact(
        "warp", " per block that share the loads", _sharing, enough=1,
        why_0=" Each element of the largest input is loaded at least as many times as a block has "
        "warps.",
    ),
    "barriers": Fact("barrier", "", _per_warp(_BARRIER), most=True, counted=_matching(_BARRIER)),
    "block_barriers": Fact(
        "block barrier", "", _per_warp(_BLOCK), most=True, counted=_matching(_BLOCK)
    ),
    "cluster_barriers": Fact(
        "cluster barrier", "", _per_warp(_CLUSTER), most=True, counted=_matching(_CLUSTER)
    ),
    "shuffles": Fact(
        "shuffle", " per warp", _per_warp(_SHUFFLE), most=True, counted=_matching(_SHUFFLE)
    ),
    "doubles": Fact(
        "float64 instruction", " per warp", _per_warp(_DOUBLE), most=True, none="no float64",
        counted=_matching(_DOUBLE),
    ),
    "halves": Fact(
        "16-bit floating-point operation", " beyond one per stored element", _halves, most=True,
        counted=_matching(_HALF),
    ),
    "floats": Fact(
        "floating-point instruction", " per warp", _per_warp(_FLOAT), most=True,
        none="no floating-point numbers", counted=_matching(_FLOAT),
    ),
    "shared_bytes": Fact(
        "byte", " of shared memory per block", lambda p: p.shared_bytes, most=True,
        none="no shared memory",
    ),
    "bank_conflicts": Fact(
        "bank conflict", "",
        lambda p: p["shared_load_bank_conflicts"] + p["shared_store_bank_conflicts"], most=True,
        look_at="fk.banks(*{failed})",
    ),
    "shared_reads": Fact(
        "byte", " read from shared memory", lambda p: p["shared_load_bytes_asked"], enough=1
    ),
    "global_atomics": Fact(
        "atomic", " on global memory", most=True, counted=_matching(r"(atom|red)\.\S*global"),
        measure=lambda p: sum(
            i["thread_instructions"] for line in p.all_lines for i in line.instructions
            if re.match(r"(atom|red)\.\S*global", i.text)
        ),
    ),
    "load_bytes": Fact(
        "byte", " per load", _mean_width("global_load"), enough=_WIDE, how=_MEAN,
        counted=_narrow("global_load"),
    ),
    "store_bytes": Fact(
        "byte", " per store", _mean_width("global_store"), enough=_WIDE, how=_MEAN,
        counted=_narrow("global_store"),
    ),
}  # fmt: skip

_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "eight": 8}
_WORK = re.compile(r"(\S+) (lane|thread|warp|block|cluster)s? per (?:([\w,]+) )?(\w+?)s?")
_MODES = {"row": "m", "column": "n", "segment": "m"}  # other words are mode names


def words_of(asked: Asked) -> str:
    """Return the requirements as text, such as `one warp per row, 256 threads per block, no
    barriers`.

    asked: maps `work` to text such as "one warp per row" or "one block per 32 columns", and names
    from `FACTS` to numbers, or to (text, function that computes the number). The function's
    parameter names select its arguments: a mode of the size, `elements` for their product,
    `itemsize`, or `block` for the threads per block.
    """
    found = []
    for key, value in asked.items():
        if key != "work" and key not in FACTS:
            needed = f"one of work, {', '.join(FACTS)}"
            raise usage_error("asked", repr(key), needed, "check the name")
        number = isinstance(value, int)
        found.append(FACTS[key].words(value) if number else value if key == "work" else value[0])
    return ", ".join(found)


def stated(asked: Asked) -> str:
    """Return a task's last line, which states the requirements."""
    return f"\n\n**Required**: {words_of(asked)}." if asked else ""


def as_asked(
    calls: Callable[[], Collection[CallKey]],
    asked: Asked,
    modes: Sequence[str],
    legal: Callable[..., tuple[int, ...]] | None = None,
) -> Group:
    """Return a group that profiles calls, compares their results, and then checks the profiles
    against the task's requirements.

    The first call also runs with a single unit of work, and at a size that fills all blocks, so
    that a superfluous block is detected.

    asked: as in `words_of`. modes: the names of a size's modes. legal: as in `values`.
    """

    def edges() -> list[CallKey]:
        work = asked.get("work")
        make, size, dtype = next(iter(calls()))
        sizes = (_with(work, modes, size, 1), _full(work, modes, size)) if work else ()
        return [(make, legal(*of) if legal else of, dtype) for of in sizes]

    def every() -> list[CallKey]:
        return [*calls(), *edges()]

    def run(submission: Submission) -> str:
        alone = {*edges()[:1]} - {*calls()}  # has too few elements for the other requirements
        for call in every():
            case = submission.case(*call)
            profile, after = submission.counted(case)
            check_values(submission, case, after)
            known = dict(zip(modes, call[1], strict=True))
            known |= {"elements": math.prod(call[1]), "itemsize": case.itemsize}
            for key, value in [("work", asked["work"])] if call in alone else asked.items():
                _check(key, value, known, profile, case.label)
        if re.match(
            "(one (thread|warp)|.* lanes) per (row|column|element|token)$", asked.get("work", "")
        ):
            for call in {of[2]: of for of in every()}.values():  # the last call in each type
                _check_shares(asked["work"], submission, call)
        return words_of(asked)

    return Group("As required", run, counts=every)


def _check(key: str, value: Any, known: dict[str, int], profile: Profile, label: str) -> None:
    main = _main(profile)
    known = known | {"block": math.prod(main.block), "cluster": math.prod(main.cluster)}
    fact, words, needed = FACTS["blocks" if key == "work" else key], "", value
    if key == "work":
        words, needed = value, _blocks(value, known)
    elif isinstance(value, tuple):
        words, of = value
        needed = of(*(known[name] for name in inspect.signature(of).parameters))
    got = fact.measure(profile)
    if fact.holds(got, needed):
        return
    called = plural(2, fact.noun).removeprefix("2 ").capitalize() + fact.rest + fact.how
    if key in ("work", "blocks", "block") and len(profile.launches) > 1:
        called += f" in the largest of {len(profile.launches)} launches"
    means = f": {plural(needed, fact.noun)}" if needed else ""
    if key == "work":
        unit = value.split()[-1].removesuffix("s")
        means += f" for {plural(known[_parsed(value, known)[-1]], unit)}"
    asks = words + means if words else fact.words(value)
    why = fact.why_0 * (not got)
    raise GateError(
        f"{called}: {exact(got)} with {label}; the task asks for {asks}.{why}"
        + _lines(profile, fact, needed),
        look_at=fact.look_at,
    )


def _check_shares(work: str, submission: Submission, call: CallKey) -> None:
    """Raise GateError if the loads of the largest input are divided among warps, threads or a row's
    lanes differently from the solution."""
    if submission.solution is None:
        return
    case = submission.case(*call)
    inputs = [k for k, x in enumerate(case.args) if hasattr(x, "numel") and k not in case.expected]
    if not inputs:
        return
    largest, unit = max(inputs, key=lambda k: case.args[k].numel()), work.split()[1].rstrip("s")
    solution = Submission(submission.solution(), submission.arch)
    mine, best = (_loaded_by(unit, largest, s, case) for s in (submission, solution))
    loaded = (mine >= 0) & (best >= 0)
    name, by, wrong = submission.compiled(case).parameters[largest].name, unit, ""
    if unit == "lane":
        by, mode, shares = "thread", work.split()[-1], best[loaded] // _NUMBERS[work.split()[0]]
        got, needed = (
            np.unique(np.unique(np.stack((shares, of[loaded])), axis=1)[0], return_counts=True)[1]
            for of in (mine, best)
        )
        if (off := got != needed).any():
            wrong = f"{plural(got[off][0], 'thread')} load {mode} {off.argmax()} of {name}; the "
            wrong += f"task asks for {work}."
    else:
        pairs = np.unique(np.stack((mine[loaded], best[loaded])), axis=1)
        one, other = (len(np.unique(row)) for row in pairs)
        if not one == other == pairs.shape[1]:
            wrong = (
                f"the solution divides {name} into {plural(other, 'share')}, but the kernel loads "
                f"it with {plural(one, unit)}, in {plural(pairs.shape[1], 'piece')}. The task asks "
                f"for {work}, so each {unit} must load exactly one whole share."
            )
    if wrong:
        look_at = f"fk.footprint(*{{failed}}, tensor='{name}', by='{by}', kind='load')"
        raise GateError(f"With {case.label}, {wrong}", look_at=look_at)


def _loaded_by(unit: str, position: int, submission: Submission, case: Case) -> Any:
    """Return the index of the thread or warp that first loads each element; -1 for elements that no
    thread loads."""
    from forgekit.tracing.footprint import footprint

    run = submission.compiled(case)
    name = run.parameters[position].name
    found = footprint(run, *submission.arguments(case).values(), tensor=name, kind="load")
    of, threads = found.touched[name], math.prod(found.block)
    number = of["block"].astype(np.int64) * threads + of["thread"]
    return np.where(of["thread"] < 0, -1, number // (32 if unit == "warp" else 1)).reshape(-1)


def _blocks(work: str, known: dict[str, int]) -> int:
    """Return the number of blocks that work such as `one warp per row` requires with the launch's
    block and cluster sizes."""
    count, unit, per, mode = _parsed(work, known)
    block = known["block"]
    threads = {"warp": 32, "block": block, "cluster": block * known["cluster"]}.get(unit, 1)
    return -(-count * -(-known[mode] // per) * threads // block)


def _full(work: str, modes: Sequence[str], size: tuple[int, ...]) -> tuple[int, ...]:
    """Return a size at which blocks have no idle threads, if their size is a power of two up to
    1,024."""
    count, unit, per, mode = _parsed(work, modes)
    threads = {"warp": 32, "block": 512, "cluster": 512}.get(unit, 1)
    if mode == "elements" and len(size) > 1:
        return (64,) * len(size)
    return _with(work, modes, size, per * 1024 // (threads * count))


def _with(work: str, modes: Sequence[str], size: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Return the size with this number of the rows, columns or elements that the work divides."""
    mode = _parsed(work, modes)[-1]
    at = 0 if mode == "elements" else modes.index(mode)
    return (*size[:at], number, *size[at + 1 :])


def _parsed(work: str, modes: Collection[str]) -> tuple[int, str, int, str]:
    """Parse work such as `one warp per two rows`; return the number of units, the unit, the number
    of rows, columns or elements that they process, and the mode that contains these."""
    found = _WORK.fullmatch(work)
    assert found is not None, work
    count, per = (_NUMBERS.get(x) or int(x.replace(",", "")) for x in (found[1], found[3] or "one"))
    short = _MODES.get(found[4], "")
    return count, found[2], per, short if short in modes else f"{found[4]}s"


def _lines(profile: Profile, fact: Fact, needed: float) -> str:
    """Return the source lines whose instructions the fact counts, as text."""
    counted = fact.counted
    where = [f"{line.where}: {line.text}" for line in profile.all_lines if counted and line.source
             and any(counted(i, needed) for i in line.instructions)]  # fmt: skip
    return "".join(f"\n{text}" for text in where[:4])

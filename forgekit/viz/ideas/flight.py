"""Draw memory speed against bytes in flight, and a two-buffer pipeline."""

from __future__ import annotations

import re
from collections.abc import Mapping

from matplotlib.figure import Figure

from forgekit.arguments import checked
from forgekit.errors import usage_error
from forgekit.profiling.gpus import gpu_named
from forgekit.tracing.timeline import Timeline
from forgekit.viz.ideas.idea import Idea
from forgekit.viz.palette import UNTOUCHED
from forgekit.viz.timing.style import SERIES

_GROUPS = re.compile(r"wait_group\((\d+)\)")


@checked()
def bytes_in_flight(
    points: Mapping[str, tuple[float, float]], *, latency_ns: float, ceiling_gbps: float,
    gpu: str = "H200",
) -> Idea:  # fmt: skip
    """Show Little's law: the bytes in flight limit the speed, up to the memory's ceiling.

    points: maps a name to (bytes in flight per multiprocessor, recorded GB/s); latency_ns: the
    latency of a load in ns, the initial value of the slider; ceiling_gbps: the speed of a copy in
    the same run; gpu: the GPU, which determines the number of multiprocessors.

    Raises UsageError if the latency or the ceiling is not positive, or the GPU is unknown.

    Source: J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961.
    """
    for name, value in (("latency_ns", latency_ns), ("ceiling_gbps", ceiling_gbps)):
        if value <= 0:
            raise usage_error(
                name, f"{value}", "a positive number", "use the value of a recorded run"
            )
    many = gpu_named(gpu).multiprocessors
    knee = ceiling_gbps * latency_ns / many
    words = "\n".join([
        f"{gpu}: at a latency of {latency_ns:.0f} ns, {ceiling_gbps:,.0f} GB/s need {knee:,.0f} "
        f"bytes in flight on each of {many} multiprocessors",
        *(f"{name}: {held:,.0f} bytes, {speed:,.0f} GB/s recorded"
          for name, (held, speed) in points.items()),
    ])  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        most = max([2 * knee, *(held for held, _ in points.values())])
        axes.plot([0, knee, most], [0, ceiling_gbps, ceiling_gbps], color=UNTOUCHED)
        for k, (name, (held, speed)) in enumerate(points.items()):
            axes.plot(held, speed, "os^DvPX"[k % 7], color=SERIES[k % 7], label=name)
        axes.set(xlabel="bytes in flight per multiprocessor", ylabel="GB/s")
        axes.legend(loc="lower right")

    return Idea(
        "flight", "Speed grows with the bytes in flight, up to memory's ceiling",
        "A model: all loads of a round start together, and a round lasts as long as the latency, "
        "or as long as memory needs for its bytes. Points: recorded.",
        {"points": {name: list(each) for name, each in points.items()}, "latency": latency_ns,
         "ceiling": ceiling_gbps, "many": many},
        words, draw,
    )  # fmt: skip


@checked()
def pipeline(timelines: Mapping[str, Timeline]) -> Idea:
    """Show when copies by cp.async are in flight while a warp works.

    timelines: maps a name to a result of `fk.timeline`, for example for kernels with one and with
    two buffers. The run determines the order of events; sliders set the duration of a copy and of
    an instruction.

    Raises UsageError for a timeline without asynchronous copies.
    """
    programs = {name: _program(name, line) for name, line in timelines.items()}
    ends = {name: run(program, 600.0, 2.0)[-1][2] for name, program in programs.items()}
    groups = {name: sum(kind == "copy" for kind, _ in programs[name]) for name in programs}
    words = "\n".join(
        f"{name}: {groups[name]} groups of copies; {end:,.0f} ns if a copy takes 600 ns and an "
        "instruction 2 ns" for name, end in ends.items()
    )  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for y, (_name, program) in enumerate(programs.items()):
            for kind, begin, end in run(program, 600.0, 2.0):
                up = {"copy": -0.2, "work": 0.2, "wait": 0.2}[kind]
                colour = {"copy": SERIES[3], "work": SERIES[0], "wait": UNTOUCHED}[kind]
                axes.barh(y + up, end - begin, 0.34, left=begin, color=colour,
                          hatch="//" if kind == "wait" else None)  # fmt: skip
        axes.set_yticks(range(len(programs)), [*programs])
        axes.invert_yaxis()
        axes.set_xlabel("ns; above: copies in flight; below: work, and waiting (hatched)")

    return Idea(
        "pipeline", "With a second buffer, copies are in flight while the warp works",
        "Upper bars: copies in flight. Lower bars: work; dashed bars: the warp waits. The steps "
        "are in the order of warp 0 in a real run; the sliders set the times.",
        {"programs": {name: [list(step) for step in programs[name]] for name in programs}},
        words, draw,
    )  # fmt: skip


def _program(name: str, line: Timeline) -> list[tuple[str, int]]:
    """Return the steps of warp 0: ("copy", 0) for a committed group, ("empty", 0) for a group
    without copies, ("wait", number of groups that may remain in flight) and ("work", number of
    instructions). A wait whose source line contains no number waits for the oldest group.
    """
    found: list[tuple[str, int]] = []
    copies = committed = waits = 0
    for step in line.steps:
        if 0 not in step.warps:
            continue
        text = step.source.text if step.source else ""
        if "commit_group" in text:
            found.append(("copy" if copies else "empty", 0))
            copies, committed = 0, committed + 1
        elif "wait_group" in text:
            waits, stated = waits + 1, _GROUPS.search(text)
            found.append(("wait", int(stated[1]) if stated else max(committed - waits, 0)))
        elif (step.kind, step.does) == ("async copy", "load"):
            copies += 1
        elif found and found[-1][0] == "work":
            found[-1] = ("work", found[-1][1] + step.instructions)
        else:
            found.append(("work", step.instructions))
    if not any(kind == "copy" for kind, _ in found):
        raise usage_error(f"timelines[{name!r}]", "no group of copies", "cp_async_commit_group",
                          "use the timeline of a pipelined kernel")  # fmt: skip
    return found


def run(
    program: list[tuple[str, int]], copy_ns: float, work_ns: float
) -> list[tuple[str, float, float]]:
    """Return (kind, begin, end) for each copy, wait and stretch of work, with times in ns, in the
    order in which they begin.
    """
    now = 0.0
    pending: list[float] = []  # when each group in flight arrives
    found: list[tuple[str, float, float]] = []
    for kind, number in program:
        if kind == "copy":
            pending.append(now + copy_ns)
            found.append(("copy", now, now + copy_ns))
        elif kind == "empty":
            pending.append(now)
        elif kind == "wait":
            done = pending[: len(pending) - number]
            until = max([now, *done])
            if until > now:
                found.append(("wait", now, until))
            now, pending = until, pending[len(done) :]
        else:
            found.append(("work", now, now + number * work_ns))
            now += number * work_ns
    return found

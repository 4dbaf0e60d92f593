# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Profile on a GPU with ncu, nsys and compute-sanitizer
#
# **You will build** a reader for NVIDIA's reports and use a report to fix a kernel. **You will
# learn** which of NVIDIA's three tools answers which question, how to run them and read their
# reports, which mistakes each of them misses, and where to look first when a kernel is slow.
# **You need** the notebooks before this one; no GPU. The output of the tools was recorded on a GPU
# and is in the folder `recorded` beside this notebook. About 45 minutes, and 30 more for the
# exercises.
#
# **The bad number is 107.** In `08_transpose_to_the_limit`, the predicted interval for a kernel
# missed the 107 µs that an H200 took. The virtual GPU can count, but only hardware can measure
# time.
#
# | tool | what it shows |
# |---|---|
# | **Nsight Compute**, `ncu` | *one kernel* in detail: what it moves and what it waits for |
# | **Nsight Systems**, `nsys` | a timeline of the *program*: host calls, kernels, copies and gaps |
# | **compute-sanitizer** | invalid accesses and races in a running program |

# %%
import csv
import inspect
import json
import re
from pathlib import Path

import cutlass
import cutlass.cute as cute
from cutlass import Float32
from recorded import kernels, pictures
from week0_helpers import count_here

import forgekit as fk

RECORDED = Path("recorded")
origin = json.loads((RECORDED / "origin.json").read_text())
print(f"Recorded on an {origin['gpu']}, driver {origin['driver']}, {origin['date']}, with")
print(f"ncu {origin['ncu']}, CuTe DSL {origin['cute_dsl']}, PyTorch {origin['torch']}.")

# %% [markdown]
# ## 1. Profile a program, not a notebook
#
# The three tools start a *program* and watch it. So this notebook's kernels are in a script, which
# launches each of them once: `python recorded/kernels.py transposes --size 8192`. Its four
# transposes are named as in `07_transpose`. `scatter` stores down a column. `shared_tile` uses a
# tile with a pitch of 32 words, and `padded` one with a pitch of 33 words. These three have blocks
# of 32 × 32 threads, with one element per thread. `padded_4` is the `padded` of `07_transpose`,
# with blocks of 32 × 8 threads and four elements per thread. This is the kernel of `shared_tile`
# and `padded`:

# %%
print(inspect.getsource(kernels.tile_kernel))

# %% [markdown]
# You can profile the same functions on the virtual GPU:

# %%
ours = {}
x, y = fk.rand(1024, 1024), fk.empty(1024, 1024)
for name, (fn, more) in kernels.transposes().items():
    ours[name] = fk.profile(fk.compile(fn, x, y, *more), x, y)
print(pictures.count_table(ours))

# %% [markdown]
# **Predict** from this table, for 8192 × 8192 on an H200: how many times as long as `padded_4` do
# `scatter`, `shared_tile` and `padded` take? Write whole numbers. (Section 4 gives the answer.)

# %%
factors = {"scatter": None, "shared_tile": None, "padded": None}
guess = {n: fk.predict(f"{n} takes … times as long as padded_4", f) for n, f in factors.items()}

# %% [markdown]
# ## 2. Run ncu
#
# For a first look, `forgekit profile ncu` runs ncu with a few metrics and prints one table: the
# time of each kernel, its use of DRAM (the memory chips), its sectors, bank conflicts, occupancy
# and registers, and what its warps wait for.
#
# ```
# uv run forgekit profile ncu --kernel transpose_ -- \
#     python recorded/kernels.py transposes --size 8192
# ```
#
# We made the recorded reports with ncu itself:
#
# ```
# ncu --set full --import-source yes --clock-control none -k regex:transpose_ -o transposes \
#     python recorded/kernels.py transposes --size 8192
# ```
#
# | option | purpose |
# |---|---|
# | `--set full` | collects all sections; the default set has no memory tables |
# | `--import-source yes` | includes your Python source in the report |
# | `-k regex:transpose_` | profiles only these kernels; PyTorch launches many others |
# | `--clock-control none` | does not change the clock; by default, ncu fixes it at a lower rate |
# | `-o transposes` | writes `transposes.ncu-rep`, which `ncu-ui` and `ncu --import` can open |
#
# Hardware can count only a few kinds of events at a time. So ncu stops the program at each kernel,
# saves the memory, and runs the kernel 40 times. Before each run, it empties the caches; in each
# run, it counts different events.
#
# <details><summary>Further: permission, names and line numbers</summary>
#
# **`ERR_NVGPUCTRPERM`:** on many machines, only an administrator may read the counters, because
# they can reveal what other users compute. The administrator can give you permission (see the link
# below). A container needs `--cap-add SYS_ADMIN`, which many cloud providers do not allow. nsys,
# compute-sanitizer and the virtual GPU need no permission.
#
# **Lines:** ncu can show Python lines only if the machine code contains line numbers. `fk.compile`
# generates them; plain CuTe DSL needs the option `--generate-line-info`.
#
# **Names:** CuTe DSL names a kernel after its function and all argument types. `kernels.py` sets a
# shorter name before it compiles a kernel: `tile_kernel.set_name_prefix("transpose_padded",
# remove_cutlass_symbol=True, keep_mangled_name=False)`.
#
# </details>
#
# Without `-o`, ncu prints its report. This is its beginning for `scatter`. (NVIDIA calls a
# multiprocessor an **SM**, *streaming multiprocessor*.)

# %%
terminal = (RECORDED / "ncu_terminal.txt").read_text()
print(terminal[: terminal.index("    Section: Warp State")])

# %% [markdown]
# Each **section** answers one question. Read them in this order:
#
# | section | question | look at |
# |---|---|---|
# | GPU Speed Of Light | What is the limit? | the highest percentage (latency, if below 60 %) |
# | Memory Workload, Tables | Does it move too much? | sectors per request, bank conflicts |
# | Launch, Occupancy | How many warps are there? | both occupancies, the limits on blocks |
# | Scheduler, Warp State | What do the warps wait for? | the largest **stall** |
# | Source Counters | Which line is the cause? | the page *Source*; "excessive" is above the ideal |
#
# **Theoretical occupancy** is the share of a multiprocessor's 64 warps that *fit* into it, given
# the kernel's threads, registers and shared memory. **Achieved occupancy** is the average share
# that was actually resident. It is lower because blocks begin and end.
#
# The L2 cache limits `scatter`. It is 88 % busy, because each store has 32 sectors. Memory itself,
# **DRAM**, is only 12 % busy. Remember the "Est. Speedup" of 47 % in the line with `OPT`; section 4
# compares it with the actual gain.
#
# ## 3. A report in ten lines of Python
#
# `ncu --import transposes.ncu-rep --csv --page raw` prints a table with one row per kernel and one
# column per metric. The second row contains the units, and the numbers contain commas.


# %%
def lines_of(name):
    return (RECORDED / name).read_text().splitlines()


def read_raw(lines):
    """Return kernel -> metric -> number, from ncu's raw page."""
    _units, *rows = csv.DictReader(lines)
    report = {}
    for row in rows:
        name = row["Kernel Name"].removeprefix("transpose_").removesuffix("_0")
        texts = {metric: text.replace(",", "") for metric, text in row.items() if "__" in metric}
        numbers = {metric: text for metric, text in texts.items() if re.fullmatch(r"[\d.]*", text)}
        report[name] = {metric: float(text or 0) for metric, text in numbers.items()}
    return report


hardware = read_raw(lines_of("ncu_counters.csv"))
print(len(hardware), "kernels,", len(hardware["scatter"]), "metrics")

# %% [markdown]
# Now compare the virtual GPU's counters with those of an H200 for 1024 × 1024. A profile accepts
# ncu's metric names, as in `p[metric]`.
#
# **Predict:** how many of the 40 numbers differ?

# %%
differing = fk.predict("numbers that differ (of 40)", None)

# %% jupyter={"outputs_hidden": true}
unequal = []
for name, metrics in hardware.items():
    print(name)
    for metric, measured in metrics.items():
        counted = ours[name][metric]
        mark = "" if counted == measured else "  <-- differs"
        unequal += [(name, metric)] if mark else []
        print(f"    {metric:68} {counted:11,.0f} {measured:11,.0f}{mark}")
differing.against(len(unequal))

# %% [markdown]
# All numbers for global memory agree. Some numbers for *shared* memory are higher on the hardware,
# by a few hundred wavefronts in a million for `shared_tile` and by 5 % for `padded`. So `padded`
# seems to have bank conflicts.
#
# In fact, it has none. This counter adds up all wavefronts beyond the first, and some of them seem
# to come from traffic that collides in the banks by chance. ncu's page *Source* has a second count,
# which is exact because it comes from the instructions themselves. So **a few percent of conflicts
# in the memory tables are noise; check the line before you add padding.**
#
# `--page source --print-source cuda,sass` prints that count for each line of Python. The recorded
# report is for 8192 × 8192, 64 times as many elements as in our profiles. The next cell raises an
# error if the count of any line differs:

# %%
lines = list(csv.DictReader(lines_of("ncu_source.csv")))
SECTORS, WAVEFRONTS = "L2 Theoretical Sectors Global", "L1 Wavefronts Shared"

print(f"{'':11} {'line':41} {'sectors':>11} {'wavefronts':>11} {'samples':>8}")
for row in lines:
    name = row["Kernel Name"].removeprefix("transpose_").removesuffix("_0")
    mine = {line.number: line for line in ours[name].all_lines} if name in ours else {}
    if int(row["Line No"]) not in mine:
        continue
    line = mine[int(row["Line No"])]
    sectors = line["global_load_sectors"] + line["global_store_sectors"]
    wavefronts = line["shared_load_wavefronts"] + line["shared_store_wavefronts"]
    assert 64 * sectors == int(row[SECTORS]) and 64 * wavefronts == int(row[WAVEFRONTS] or 0)
    if sectors or wavefronts:
        text, samples = row["Source"].strip(), int(row["# Samples"])
        print(f"{name:11} {text:41} {64 * sectors:11,} {64 * wavefronts:11,} {samples:8,}")
count_here(hardware, ours, read_raw)  # the 40 numbers on your machine, if it has a GPU and ncu

# %% [markdown]
# The counts agree exactly, line by line. The virtual GPU cannot provide the last column. Every few
# microseconds, ncu samples the lines that the warps are executing, so a line with many samples
# takes much *time*. The line that was fixed in `padded` has four fifths fewer samples than in
# `shared_tile`; the line with the load has as many.
#
# This is a good place for a break.
#
# ## 4. Times that only hardware can measure
#
# First, your predictions:

# %% jupyter={"outputs_hidden": true}
report = read_raw(lines_of("ncu_metrics.csv"))
duration_us = {name: m["gpu__time_duration.sum"] / 1000 for name, m in report.items()}
for name, prediction in guess.items():
    prediction.against(round(duration_us[name] / duration_us["padded_4"]))
for name in ours:
    times = duration_us[name] / duration_us["padded_4"]
    print(f"{name:11} {duration_us[name]:4.0f} µs, {times:.1f} times as long as padded_4")

# %% [markdown]
# `padded` and `padded_4` have the same requests, sectors, wavefronts and conflicts, yet `padded`
# takes twice as long. The left side of the picture shows ncu's Speed Of Light, the use of each unit
# as a share of its maximum. The right side shows how long a warp waits between two instructions. A
# **scoreboard** tracks results that a warp has requested but not received: *long* for global
# memory, *short* for shared memory. **MIO**, memory input and output, is the queue of instructions
# for shared memory and other units.

# %%
pictures.limits_and_stalls(report, list(ours))

# %% [markdown]
# | stall | the warp waits for | if this stall is the largest |
# |---|---|---|
# | long scoreboard | a value from global memory | usual for a copy; put more bytes in flight |
# | short scoreboard, mio throttle | shared memory | look for bank conflicts and narrow accesses |
# | barrier | the other warps of its block | use smaller blocks, more work between barriers |
# | drain | its stores, before it may end | check the stores; the kernel may do little else |
#
# - In `scatter`, L2 is nearly saturated, and the largest stall is drain. The problem is *the
#   stores*.
# - In `shared_tile`, L1 and shared memory are the busiest units at 60 %, exactly the threshold of
#   section 2. The largest stall is the short scoreboard, so the problem is *the conflicts*.
# - In `padded`, no unit is above 45 %, and warps wait for global memory and at the barrier. If no
#   unit is busy, the limit is **latency**, the time of one answer, because too few bytes are in
#   flight. A thread requests only 4 bytes, and its block of 1,024 threads waits for the slowest
#   warp.
# - `padded_4` requests 16 bytes per thread, in blocks of 256 threads. (The tile still has 32 × 32
#   elements, so one change implies the other, and we cannot separate their effects.) Now DRAM is at
#   72 %.
#
# In `padded_4`, L2 is at 82 % because it carries the same bytes on their way to DRAM. So if the
# highest bar is L2, look at DRAM as well. If both are high, the bytes have to be moved anyway. If
# only L2 is high, too many sectors arrive there.
#
# ncu's *rules* (`OPT`) also give advice, each with an estimated gain:

# %%
for row in csv.DictReader(lines_of("ncu_details.csv")):
    if row["Rule Type"] == "OPT" and row["Estimated Speedup"]:
        name = row["Kernel Name"].removeprefix("transpose_").removesuffix("_0")
        gain = float(row["Estimated Speedup"])
        print(f"{name:11} {gain:5.1f} %  {row['Rule Name']:26} {row['Rule Description'][:62]}…")

# %% [markdown]
# The largest estimate promises a gain from busier arithmetic units, but a transpose does no
# arithmetic. `SharedMemoryConflicts` for `padded_4` is the noise of section 3. In contrast,
# `UncoalescedGlobalAccess` and `UncoalescedSharedAccess` are exact, and each points to the
# offending line.
#
# How large is the actual gain? For the stores of `scatter`, one rule estimated 47 % in section 2,
# and another estimates 78 %. With the stores fixed, `padded` is 3.1 times as fast as `scatter`, and
# `padded_4` is 6.5 times as fast. **A rule tells you where to look, but its percentage is not the
# gain.**
#
# ## 5. Five reports to read
#
# The next table describes five more transposes of the same matrix, without their source. Its names
# abbreviate ncu's, which are in `recorded/pictures.py`. Each kernel has a different problem or
# none.

# %%
print(pictures.report_table(report, "ABCDE"))

# %% [markdown] exercise="week0/read_the_report" part="task"
# ### Exercise 1: read five reports
#
# The table above is all you know about five transposes. Name the problem of each: `"sectors"` (it
# moves too many), `"conflicts"` (in the banks), `"lanes"` (too few are active), `"occupancy"` (its
# *theoretical* occupancy is too low, because too few warps fit into a multiprocessor) or
# `"nothing"`. Then answer two questions. Which kernel would you fix first? If B becomes as fast as
# the fastest of the five, how many times as fast as before will it be (two decimals)?
#
# <details><summary>Hint 1</summary>
#
# Read the table row by row, not column by column. In each row, look for the number that differs
# from the others.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# The best values are 4 sectors for 32 lanes of 4 bytes, 1 wavefront, 32 lanes, and 100 %
# theoretical occupancy. Ignore differences of less than a tenth. If both L2 and DRAM are high,
# nothing is wrong.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Four kinds of rows answer the question: sectors, wavefronts, lanes and theoretical occupancy. In
# each of them, which kernel is farthest from the best value? The fifth kernel has no problem. To
# decide which kernel to fix first, compare times rather than counters, because all five do the same
# work.
#
# </details>

# %% exercise="week0/read_the_report" part="skeleton"
diagnosis = {  # each: "sectors", "conflicts", "lanes", "occupancy" or "nothing"
    # FILL ME IN (roughly 7 lines)
    "A": None,
    "B": None,
    "C": None,
    "D": None,
    "E": None,
    "begin with": None,  # a letter
    "gain of B": None,  # a number
}

# %% exercise="week0/read_the_report" part="grade"
fk.exercise("week0/read_the_report").grade(diagnosis)

# %% [markdown] exercise="week0/read_the_report" part="solution"
# <details><summary>Solution of exercise 1</summary>
#
# ```python
# diagnosis = {  # each: "sectors", "conflicts", "lanes", "occupancy" or "nothing"
#     "A": "conflicts",
#     "B": "occupancy",
#     "C": "sectors",
#     "D": "lanes",
#     "E": "nothing",
#     "begin with": "B",
#     "gain of B": 529 / 141,
# }
# ```
#
# In **A**, the rows of the tile are 48 words apart, so 32 lanes share two banks and a load takes 16
# wavefronts. A takes 1.4 times as long as E, not 16 times, because the conflicts are not its only
# cost. **B** reserves 200 KB of shared memory, so only one block of 256 threads, 8 of a possible 64
# warps, fits into a multiprocessor. Its memory counters are good, but it is the slowest of the
# five. **C** loads down the columns. It is slow although the L1 cache serves 78 % of its sectors.
# In **D**, only eight lanes of each warp do the work (a few instructions outside the `if` raise the
# average to 10). It makes four times as many requests, which have only 1 sector each *because* they
# are small. **E** moves eight elements per thread and uses 76 % of DRAM's peak; the same bytes keep
# L2 at 84 %. It needs no fix, unless you find a way to move fewer bytes.
#
# The virtual GPU reveals only three of these four problems. In `fk.profile`, the sectors and
# wavefronts of B are as good as those of E.
#
# </details>

# %% [markdown]
# ## 6. From a report to the line to fix
#
# The next cell prints a report that was recorded on the H200. The kernel rotates a matrix by a
# quarter turn. Stalls are given in cycles between two instructions of a warp.

# %%
slow = report["turn_slow"]
print(f"time {slow['gpu__time_duration.sum'] / 1000:.0f} µs;", end=" ")
print(", ".join(f"{unit} {slow[metric]:.0f} %" for unit, metric in pictures.UNITS.items()))
print("stalls:", ", ".join(f"{why} {slow[metric]:.0f}" for why, metric in pictures.STALLS.items()))
print()
print(f"{'line':37} {'sectors':>11} {'ideal':>10} {'wavefronts':>11} {'ideal':>10}")
for row in lines:
    if row["Kernel Name"].startswith("turn_slow") and "[" in row["Source"]:
        cells = [int(row[c]) for c in (SECTORS, f"{SECTORS} Ideal", WAVEFRONTS)]
        text, ideal = row["Source"].strip(), int(row[f"{WAVEFRONTS} Ideal"])
        if any(cells):
            print(f"{text:37} {cells[0]:11,} {cells[1]:10,} {cells[2]:11,} {ideal:10,}")


# %% [markdown] exercise="week0/fix_the_turn" part="task"
# ### Exercise 2: use a report to fix a slow kernel
#
# `turn` rotates a matrix clockwise by a quarter turn: `mY[col, M - 1 - row] = mX[row, col]`. It
# uses a tile in shared memory, yet it took 995 µs on the H200, as the report above shows. Make it
# faster by changing the two marked places: the layout of `sT`, and the lines after the barrier.
#
# <details><summary>Hint 1</summary>
#
# Which line has more sectors than the ideal? In that line, which index of `mY` differs between
# neighbouring threads, that is, threads with consecutive `tidx`?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# After the barrier, a thread does not have to store the element that it loaded. Let `tidx` select
# the *row* of X (the column of Y), and `tidy` the column. Which element of `sT` does a thread store
# then, and from which banks do the 32 lanes read?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# After the barrier and before the predicate, compute `row` and `col` again, with tidx and tidy
# swapped. Swap the indices of sT as well. This read goes down a column of sT. Which pitch does
# `07_transpose` use for such a tile?
#
# </details>


# %% exercise="week0/fix_the_turn" part="skeleton"
@cute.kernel
def turn_kernel(mX: cute.Tensor, mY: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    M, N = mX.shape
    smem = cutlass.memory.SmemAllocator()
    # FILL ME IN (roughly 1 line)
    sT = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(32, 1)), 128)
    row, col = bidy * 32 + tidy, bidx * 32 + tidx
    if row < M and col < N:
        sT[tidy, tidx] = mX[row, col]
    cute.arch.sync_threads()
    # FILL ME IN (roughly 3 lines)
    if row < M and col < N:
        mY[col, M - 1 - row] = sT[tidy, tidx]


@cute.jit
def turn(mX: cute.Tensor, mY: cute.Tensor):
    grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
    turn_kernel(mX, mY).launch(grid=grid, block=(32, 32, 1))


# %% exercise="week0/fix_the_turn" part="grade"
fk.exercise("week0/fix_the_turn").grade(turn)

# %% [markdown] exercise="week0/fix_the_turn" part="solution"
# <details><summary>Solution of exercise 2</summary>
#
# ```python
# @cute.kernel
# def turn_kernel(mX: cute.Tensor, mY: cute.Tensor):
#     tidx, tidy, _ = cute.arch.thread_idx()
#     bidx, bidy, _ = cute.arch.block_idx()
#     M, N = mX.shape
#     smem = cutlass.memory.SmemAllocator()
#     sT = smem.allocate_tensor(Float32, cute.make_layout((32, 32), stride=(33, 1)), 128)
#     row, col = bidy * 32 + tidy, bidx * 32 + tidx
#     if row < M and col < N:
#         sT[tidy, tidx] = mX[row, col]
#     cute.arch.sync_threads()
#     row, col = bidy * 32 + tidx, bidx * 32 + tidy
#     if row < M and col < N:
#         mY[col, M - 1 - row] = sT[tidx, tidy]
#
#
# @cute.jit
# def turn(mX: cute.Tensor, mY: cute.Tensor):
#     grid = (cute.ceil_div(mX.shape[1], 32), cute.ceil_div(mX.shape[0], 32), 1)
#     turn_kernel(mX, mY).launch(grid=grid, block=(32, 32, 1))
# ```
#
# The store was the slow line. `tidx` ran along `col`, the *row* of `mY`, so each lane wrote to a
# different sector. The tile in shared memory had no effect, because every thread read back the
# element that it had stored itself. If `tidx` and `tidy` are swapped after the barrier, the lanes
# of a store fill whole sectors. `M - 1 - row` means that they fill them from right to left. This
# costs nothing, because the sectors of a request do not depend on the order of its lanes. Since the
# lanes now read a column of `sT`, the tile needs padding.
#
# On the H200, this change reduced the time from 995 µs to 311 µs, with DRAM at 35 % of its peak.
# That is as long as `padded` above takes. `padded_4`, with four elements per thread and blocks of
# 256 threads, takes half that time. The virtual GPU cannot measure this further gain, so the
# exercise does not require it.
#
# </details>

# %% [markdown]
# ## 7. Between the kernels: nsys
#
# ncu sees nothing outside a kernel. If a program is slow although its kernels are fast, use Nsight
# Systems *first*. `uv run forgekit profile nsys -- python my_program.py` prints three tables, which
# list the times of kernels, the times of host calls, and the copies. To see the timeline itself,
# run nsys directly:
#
# ```
# nsys profile -t cuda,nvtx -o run python my_program.py     # then open run.nsys-rep in nsys-ui
# ```
#
# Name the steps of your program with `torch.cuda.nvtx.range_push("step")` and `range_pop()`.
# (**NVTX** is NVIDIA's library for such marks, which profilers display.)
#
# nsys was not installed on the recording machine, so we used `torch.profiler`, which answers the
# same question. It recorded twelve transposes of 512 × 512 (1.7 µs each) launched in three ways,
# and twelve of 8192 × 8192. (We omit the first of each twelve, which takes several times as long
# under a profiler.)
#
# - *waiting*: after each launch, the host asks for one element, `y[0, 0].item()`;
# - *queued*: the host launches all twelve and waits only at the end;
# - *graph*: a **CUDA graph**, which has recorded the twelve launches, starts them together;
# - *long*: like *queued*, but with the large matrices.
#
# **Predict:** what percentage of the time is the GPU busy in each of the three ways with small
# matrices?

# %%
timeline = json.loads((RECORDED / "timeline.json").read_text())
percents = {"waiting": None, "queued": None, "graph": None}
busy_guess = {
    way: fk.predict(f"{way}: percent of the time the GPU is busy", percent)
    for way, percent in percents.items()
}

# %% jupyter={"outputs_hidden": true}
for way, guessed in busy_guess.items():
    guessed.against(round(pictures.busy_percent(timeline["ways"][way])))
pictures.time_lines(timeline["ways"])
print("µs per transpose, without a profiler:", end=" ")
print(", ".join(f"{way} {whole / 12:.1f}" for way, whole in timeline["wall_us"].items()))

# %% [markdown]
# In *waiting*, the GPU is idle nearly all the time, and a faster kernel would not help. In
# *queued*, the host is the limit, because it needs more time for a launch than the GPU needs for
# the kernel. In *graph*, the host starts all twelve launches together, which leaves hardly any
# gaps. In *long*, none of this matters, because the host is far ahead of the GPU and then waits for
# it.
#
# A profiler itself takes time, especially in programs with many calls. Use the picture only for the
# order of events, and rely on times that were measured without a profiler.
#
# ## 8. compute-sanitizer and the virtual GPU's sanitizer
#
# ```
# compute-sanitizer --tool memcheck  python my_program.py   # accesses outside an allocation
# compute-sanitizer --tool racecheck python my_program.py   # races in shared memory
# compute-sanitizer --tool initcheck python my_program.py   # reads of unwritten memory
# compute-sanitizer --tool synccheck python my_program.py   # misused barriers
# ```
#
# `uv run forgekit sanitize -- python my_program.py` runs all four tools and prints one table of
# findings. (Without the `--`, it runs the virtual GPU's sanitizer.) compute-sanitizer works with
# any program, because it instruments the machine code as the program loads it. It is slow, so use
# small sizes.
#
# `recorded/kernels.py bug …` launches six kernels with one mistake each, so that both sanitizers
# check the same kernels. The first is the mirror without a barrier from `01_why_slow_why_wrong`:


# %%
theirs = json.loads((RECORDED / "sanitizer.json").read_text())


def ask_ours(bug):
    """Return the virtual GPU's report on one of the kernels with a mistake."""
    fn, (first, *others) = kernels.BUGS[bug]
    x = fk.ones(*first, device="virtual")
    rest = [fk.empty(*shape, device="virtual") for shape in others]
    return fk.sanitize(fk.compile(fn, x, *rest, device="virtual"), x, *rest)


print(theirs["race_shared"]["text"])
print(ask_ours("race_shared"))

# %% [markdown]
# Both sanitizers name the same two lines. racecheck counts one hazard per byte: 4 blocks of 64
# threads with 4 bytes each give 1,024. The virtual GPU's sanitizer names one pair of threads and
# the remedy.
#
# ### It looks right but is wrong
#
# `overhang` copies 1,000 elements with 8 blocks of 128 threads but without a predicate. memcheck is
# meant to find exactly this.
#
# **Predict:** how many errors does memcheck find?

# %%
errors_guess = fk.predict("errors that memcheck finds", None)

# %% jupyter={"outputs_hidden": true}
print(theirs["overhang_cached"]["text"])
found = re.search(r"ERROR SUMMARY: (\d+)", theirs["overhang_cached"]["text"])
errors_guess.against(int(found[1]))

# %% [markdown]
# > **Looks right but is wrong.** memcheck reports no error, although the kernel is wrong. PyTorch
# > requests memory from CUDA in pieces of 2 MB and cuts tensors from them. The accesses of the 24
# > threads without an element stay inside such a piece, in memory that belongs to another tensor or
# > may do so later. memcheck knows only the pieces.
#
# With `PYTORCH_NO_CUDA_MEMORY_CACHING=1` in the environment, every tensor is a separate allocation:

# %%
print(theirs["overhang"]["text"])

# %% [markdown]
# The report shows two errors and omits 22 similar ones, one for each of the 24 threads. (The
# recording does not include the other four of the 28 errors.) **Set this variable whenever you use
# memcheck or initcheck with PyTorch**; `forgekit sanitize` sets it for you. The next cell checks
# all six kernels with the variable set.
#
# **Predict:** how many of the six mistakes does compute-sanitizer miss, and which ones?

# %%
missed_guess = fk.predict("mistakes (of 6) that compute-sanitizer misses", None)

# %% jupyter={"outputs_hidden": true}
missed = 0
print(f"{'mistake':15} {'tool':10} {'compute-sanitizer':20} virtual GPU")
for bug in kernels.BUGS:
    tool, text = theirs[bug]["tool"], theirs[bug]["text"]
    verdict = "0 errors" if "0 errors" in text else "found"
    missed += verdict == "0 errors"
    kinds = {finding.kind for finding in ask_ours(bug).errors}
    print(f"{bug:15} {tool:10} {verdict:20} {', '.join(sorted(kinds))}")
missed_guess.against(missed)

# %% [markdown]
# - racecheck checks **only shared memory**. In `race_global`, one block reads elements of *global*
#   memory that another block may not have written yet.
# - initcheck checks **only global memory**. `unset_shared` reads a word of its shared tile that no
#   thread has stored.
# - synccheck reports nothing for `split_barrier`, in which 8 lanes of a warp reach a barrier and 24
#   do not. On an H200 this kernel finishes, but CUDA does not guarantee that.
#
# The virtual GPU runs only kernels that CuTe DSL compiles, at small sizes, whereas
# compute-sanitizer checks any program. Use the virtual GPU while you write a kernel, and
# compute-sanitizer before others use it. Neither detects a wrong index that stays inside its
# tensor; for that, use `fk.check`.

# %% [markdown] exercise="week0/which_tool" part="task"
# ### Exercise 3: choose the right tool
#
# For each question, write the tool that answers it: `"virtual GPU"` (`fk.profile`, `fk.sanitize`),
# `"ncu"`, `"nsys"` or `"compute-sanitizer"`. Each question has one correct answer.
#
# | key | question |
# |---|---|
# | `idle between` | A training step takes 40 ms, its kernels only 10 ms. Where is the rest? |
# | `DRAM percent` | How close is this kernel to the bandwidth of this GPU's memory? |
# | `crash of a C++ program` | A C++ program ends with "an illegal memory access". Where is it? |
# | `global race` | Does a block of my kernel read data that another may not have written yet? |
# | `line without a GPU` | Which line of my kernel has bank conflicts? I have only a laptop. |
# | `stalls` | All counters are ideal, but the kernel is slow. What do its warps wait for? |
# | `memcpy` | Does the program copy a tensor to the host in every step? |
#
# <details><summary>Hint 1</summary>
#
# Decide what each tool watches: a kernel's instructions (on the virtual GPU or on a real one), a
# kernel's time, a program's time, or a program's mistakes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two questions are about events *outside* kernels, and only one tool observes those.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# nsys, ncu and the virtual GPU each answer two questions. compute-sanitizer answers only the
# question about a mistake in a program that is not written in CuTe DSL.
#
# </details>

# %% exercise="week0/which_tool" part="skeleton"
tools = {  # each: "virtual GPU", "ncu", "nsys" or "compute-sanitizer"
    # FILL ME IN (roughly 7 lines)
    "idle between": None,
    "DRAM percent": None,
    "crash of a C++ program": None,
    "global race": None,
    "line without a GPU": None,
    "stalls": None,
    "memcpy": None,
}

# %% exercise="week0/which_tool" part="grade"
fk.exercise("week0/which_tool").grade(tools)

# %% [markdown] exercise="week0/which_tool" part="solution"
# <details><summary>Solution of exercise 3</summary>
#
# ```python
# tools = {  # each: "virtual GPU", "ncu", "nsys" or "compute-sanitizer"
#     "idle between": "nsys",
#     "DRAM percent": "ncu",
#     "crash of a C++ program": "compute-sanitizer",
#     "global race": "virtual GPU",
#     "line without a GPU": "virtual GPU",
#     "stalls": "ncu",
#     "memcpy": "nsys",
# }
# ```
#
# nsys shows the whole program and the parts that are worth a closer look. ncu analyses a single
# kernel in detail. compute-sanitizer finds invalid accesses in any program. The virtual GPU counts
# and checks CuTe DSL kernels exactly, line by line, and without a GPU, but it does not measure
# time.
#
# </details>

# %% [markdown]
# ## 9. Where to look when a kernel is slow
#
# | | question | how | then |
# |---|---|---|---|
# | 1 | Is it correct? | `fk.check(…, again=…)`, `fk.sanitize` | if not, fix it first |
# | 2 | Is the kernel the cause? | nsys: gaps, copies, `.item()` | queue, graph, larger pieces |
# | 3 | How far is it from the bound? | `fk.profile(…).bound_s("H200")` | if it is close, stop |
# | 4 | Does it move too much? | sectors and ideal, by line | coalesce, vectorise |
# | 5 | Are there bank conflicts? | wavefronts and ideal, by line | pad, swizzle |
# | 6 | Are lanes idle? | lanes per instruction | distribute the work differently |
# | 7 | Does it spill? | `run.spill_bytes` | keep fewer values |
# | 8 | Are there too few warps? | ncu: Occupancy, limits | save shared memory, registers |
# | 9 | Is too little in flight? | ncu: nothing busy, long scoreboard | move more bytes per thread |
# | 10 | Is one unit full? | ncu: Speed Of Light over 80 % | use it less, unless DRAM is high too |
#
# Steps 1 and 3 to 7 need no GPU. At each step, change only *one* thing, measure again, and write
# down the result.
#
# ## Summary
#
# The next table is for 8192 × 8192 float32, recorded on the H200. Times in the column "alone" were
# measured without ncu, between two **CUDA events**, marks in the GPU's queue that record when the
# GPU reaches them.

# %%
print(f"{'':11} {'sectors per':>11} {'wavefronts per':>15} {'DRAM':>6} {'ncu':>8} {'alone':>8}")
print(f"{'':11} {'store':>11} {'shared load':>15} {'%':>6} {'µs':>8} {'µs':>8}")
for name, p in ours.items():
    store, waves = p.global_store_sectors_per_request, p.shared_load_wavefronts_per_request
    percent = report[name][pictures.UNITS["DRAM"]]
    with_ncu, alone = duration_us[name], timeline["event_us"][name]
    print(f"{name:11} {store:11.0f} {waves:15.0f} {percent:6.0f} {with_ncu:8.0f} {alone:8.0f}")
bound = 64 * ours["padded_4"].bound_s("H200") * 1e6
print(f"\nat least {bound:.0f} µs, with memory at its peak bandwidth")

# %% [markdown]
# | tool | sees | does not see |
# |---|---|---|
# | virtual GPU | exact accesses by line, races, unwritten memory | time, caches, other code |
# | ncu | one kernel's limits, stalls and counts on real hardware | gaps, mistakes |
# | nsys | host calls, kernels, copies and gaps of a program | how a kernel spends its time |
# | compute-sanitizer | invalid accesses in any program | races in global memory; see section 8 |
#
# **In practice**, engineers make a report for every change that should improve speed, on one GPU
# and with fixed sizes, and keep it with the change. `ncu --import old.ncu-rep` prints an old
# report, and the *baselines* of `ncu-ui` compare two reports. Engineers measure times without ncu,
# after a warm-up, as the median of many runs. Production code names its kernels and puts NVTX
# ranges around its steps before anyone needs them.
#
# **Further reading:** [ncu's
# options](https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html) · [ncu: metrics,
# sections, stalls](https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html) · [permission
# to read counters](https://developer.nvidia.com/ERR_NVGPUCTRPERM) ·
# [nsys](https://docs.nvidia.com/nsight-systems/UserGuide/index.html) ·
# [compute-sanitizer](https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html) · *What
# the virtual GPU models*, a page of this course's book (`book/virtual_gpu.md`)
#
# **Next:** whole kernels from scratch ([`10_practice`](10_practice.ipynb)), then reductions in week
# 1, where threads have to agree on one number
# ([`00_what_is_the_right_sum`](../week1_reduce/00_what_is_the_right_sum.ipynb)).

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
# # Profile on a GPU: ask ncu, nsys and compute-sanitizer
#
# **You will build** a reader for NVIDIA's reports. With it you fix a kernel of which you have
# nothing but such a report.
# **You will learn** which of NVIDIA's three tools answers which question, how to call them, how to
# read what they say, what each of them cannot see, and where to look first if a kernel is slow.
# **You need** the notebooks before this one; no GPU. All that the tools say here was recorded on a
# GPU, and lies in the folder `recorded` beside this notebook. About 40 minutes, and 20 more for the
# exercises.
#
# | tool | in one line |
# |---|---|
# | **Nsight Compute**, `ncu` | takes *one kernel* apart: what it moves, what it waits for |
# | **Nsight Systems**, `nsys` | a time line of the *program*: host, kernels, copies, gaps |
# | **compute-sanitizer** | finds wrong accesses and races in a running program |

# %%
import csv
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cutlass
import cutlass.cute as cute
from cutlass import Float32
from recorded import kernels, pictures

import forgekit as fk

RECORDED = Path("recorded")
origin = json.loads((RECORDED / "origin.json").read_text())
print(f"Recorded on an {origin['gpu']}, driver {origin['driver']}, {origin['date']}, with")
print(f"ncu {origin['ncu']}, CuTe DSL {origin['cute_dsl']}, PyTorch {origin['torch']}.")

# %% [markdown]
# ## 1. Profile a program, not a notebook
#
# The three tools start a *program* and watch it. So the kernels of this notebook stand in a script,
# `recorded/kernels.py`, which launches each of them once:
# `python recorded/kernels.py transposes --size 8192`. Four transposes are in it, named as in
# `07_transpose`. `scatter` stores down a column; `shared_tile` and `padded` go through a tile with
# a pitch of 32 and 33 words. These three have blocks of 32 × 32 threads and one element a thread,
# where `07_transpose` has blocks of 32 × 8 and, with a tile, four elements a thread. `padded_4` has
# those: it is the `padded` of `07_transpose`. Here are `shared_tile` and `padded`:

# %%
print(inspect.getsource(kernels.tile_kernel))

# %% [markdown]
# Nothing keeps us from profiling the same functions on the virtual GPU:

# %%
ours = {}
x, y = fk.rand(1024, 1024), fk.empty(1024, 1024)
for name, (fn, more) in kernels.transposes().items():
    ours[name] = fk.profile(fk.compile(fn, x, y, *more), x, y)

print(f"{'':11} {'sectors a':>10} {'':10} {'wavefronts a':>13} {'instr.':>8}")
print(f"{'':11} {'load':>10} {'store':>10} {'shared load':>13} {'PTX':>8}")
for name, p in ours.items():
    load, store = p.global_load_sectors_per_request, p.global_store_sectors_per_request
    waves = p.shared_load_wavefronts_per_request
    instructions = p["warp_instructions"]
    print(f"{name:11} {load:10.0f} {store:10.0f} {waves:13.0f} {instructions:8,}")

# %% [markdown]
# **Predict** from this table, for 8192 × 8192: how many times as long as `padded_4` do `scatter`,
# `shared_tile` and `padded` take on an H200? Write whole numbers in place of `None`. (You learn it
# in section 4.)

# %%
said = {"scatter": None, "shared_tile": None, "padded": None}
guess = {n: fk.predict(f"{n} takes … times as long as padded_4", said[n]) for n in said}

# %% [markdown]
# ## 2. Call ncu
#
# ```
# ncu --set full --import-source yes --clock-control none -k regex:transpose_ -o transposes \
#     python recorded/kernels.py transposes --size 8192
# ```
#
# | option | why |
# |---|---|
# | `--set full` | all sections, 40 passes a kernel; the default has no memory tables |
# | `--import-source yes` | puts your Python into the report |
# | `-k regex:transpose_` | only these kernels; PyTorch launches many of its own |
# | `-s 5 -c 1` | skip five launches, take one: for a program that warms up first |
# | `--clock-control none` | leaves the clock alone; by default ncu slows it to a fixed rate |
# | `-o transposes` | writes `transposes.ncu-rep`, for `ncu-ui`, its window, and `ncu --import` |
#
# That ncu can show Python lines at all needs line numbers in the machine code. `fk.compile` makes
# them; with plain CuTe DSL it is the option `--generate-line-info`. And it needs names: CuTe DSL
# calls a kernel after the function and all its argument types, `kernel_cutlass_tile_kernel_…`, so
# `kernels.py` chooses a better one before it compiles:
#
# ```python
# tile_kernel.set_name_prefix(
#     "transpose_padded", remove_cutlass_symbol=True, keep_mangled_name=False
# )
# ```
#
# Hardware counts only a few things at a time. So ncu stops the program at a kernel, saves the
# memory, runs the kernel 40 times, empties the caches before each time, and counts something else
# each time. The program gets slow, and nothing else runs meanwhile.
#
# For a first look less will do. `forgekit profile ncu` calls ncu with fewer metrics, and prints a
# table: of each kernel the time, the use of DRAM (the memory chips), sectors, bank conflicts,
# occupancy (how many warps fit, see below), registers, and what its warps wait for.
#
# ```
# uv run forgekit profile ncu --kernel transpose_ -- \
#     python recorded/kernels.py transposes --size 8192
# ```
#
# (Without `--kernel` it takes the kernels that have CuTe DSL's own names. `--full` asks for all
# sections and the source, and `--out transposes.ncu-rep` keeps the report.)
#
# **If it says `ERR_NVGPUCTRPERM`:** on many machines only an administrator may read the counters,
# because they can give away what other users compute. The administrator can allow it (the link is
# below); in a container it takes `--cap-add SYS_ADMIN`; in many clouds there is no way. nsys,
# compute-sanitizer and the virtual GPU need no permission.
#
# Without `-o` ncu prints its report. This is the beginning for `scatter`. (An **SM**, *streaming
# multiprocessor*, is NVIDIA's word for a multiprocessor: an H200 has 132.)

# %%
terminal = (RECORDED / "ncu_terminal.txt").read_text()
print(terminal[: terminal.index("    Section: Warp State")])

# %% [markdown]
# A **section** answers one question. Read them in this order:
#
# | section | question | look at |
# |---|---|---|
# | GPU Speed Of Light | What is the limit? | the highest percentage; all below 60 %: it waits |
# | Memory Workload, Tables | Is too much moved? | sectors a request, bank conflicts |
# | Launch, Occupancy | How many warps are there? | both occupancies; what limits the blocks |
# | Scheduler, Warp State | What do they wait for? | the largest **stall** |
# | Source Counters | Which line? | the page *Source*; "excessive" is beyond the ideal |
#
# **Theoretical occupancy** is the share of a multiprocessor's 64 warps that *fit* into it, given
# the kernel's threads, registers and shared memory; **achieved occupancy** is the share that was
# there on average. The second is lower, for blocks begin and end.
#
# `scatter` is limited by the L2 cache, 88 % busy: its 32 sectors a store all arrive there. Memory
# itself, **DRAM**, is at 12 %. Notice the modest "Est. Speedup" of 47 % in the line with `OPT`: it
# is an estimate, and section 4 compares it with what was won.
#
# ## 3. A report in ten lines of Python
#
# `ncu --import transposes.ncu-rep --csv --page raw` prints a table, one row a kernel, one column a
# metric; the second row has the units. Numbers have commas in them. That is all there is to know:


# %%
def lines_of(name):
    return (RECORDED / name).read_text().splitlines()


def read_raw(lines):
    """Kernel -> metric -> number, from ncu's raw page."""
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
# Now the virtual GPU's counters beside an H200's, for 1024 × 1024. A profile knows ncu's names,
# too, so `p[metric]` will do.
#
# **Predict:** of the 40 numbers, how many differ?

# %%
differing = fk.predict("numbers that differ, of 40", None)

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
# All of global memory is equal, number by number. What differs is in *shared* memory, and always
# upwards: a few hundred wavefronts of a million for `shared_tile`, 5 % for `padded`, which
# therefore seems to have bank conflicts.
#
# It has none. This counter adds up wavefronts beyond the first, and it seems that some come from
# traffic that meets in the banks by chance. The larger the matrix, the more of it there is. ncu has
# a second count, made by watching the instructions themselves; it is on the page *Source*, and it
# is exact. So: **a few percent of conflicts in the memory tables are noise; look at the line before
# you pad.** The next cell is a test of all this; it would stop the notebook.

# %%
for name, metric in unequal:
    assert "shared" in metric and ours[name][metric] < hardware[name][metric]
    assert hardware[name][metric] - ours[name][metric] < 0.06 * 32768

# %% [markdown]
# `--page source --print-source cuda,sass` says it by line, of Python in our case. The recorded
# report is of 8192 × 8192, 64 times as many elements as ours. Again a test, of every line of all
# four kernels:

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

# %% [markdown]
# Equal to the last digit, line by line. The last column is what the virtual GPU does not have:
# every few microseconds ncu looks where the warps are, and how often they stand at a line says
# where the *time* goes. The fixed line of `padded` has lost four fifths of its samples; the line
# of its load has as many as before. (A warp that has finished and waits for its stores stands at
# the last instruction. CuTe DSL books that one on the line of `@cute.jit` below the kernel, so do
# not be surprised to find many samples there.)
#
# ## 4. What only the hardware knows
#
# First, your predictions:

# %% jupyter={"outputs_hidden": true}
report = read_raw(lines_of("ncu_metrics.csv"))
duration_us = {name: m["gpu__time_duration.sum"] / 1000 for name, m in report.items()}
for name, prediction in guess.items():
    prediction.against(round(duration_us[name] / duration_us["padded_4"]))
print()
for name in ours:
    times = duration_us[name] / duration_us["padded_4"]
    print(f"{name:11} {duration_us[name]:4.0f} µs, {times:.1f} times as long as padded_4")

# %% [markdown]
# `padded` and `padded_4` have the same requests, sectors, wavefronts and conflicts on the virtual
# GPU, `padded_4` executes fewer instructions, and one takes twice as long as the other. The virtual
# GPU knows no time, so this is where ncu begins. Left, its Speed Of Light: how
# busy each unit is, in percent of what it could do. Right, what keeps a warp from its next
# instruction. (A **scoreboard** is where the hardware keeps track of results that a warp has asked
# for and does not have yet: *long* for global memory, *short* for shared memory. **MIO**, memory
# input and output, is the queue that instructions to shared memory, among others, stand in.)

# %%
pictures.limits_and_stalls(report, list(ours))

# %% [markdown]
# | stall | the warp waits for | if it leads |
# |---|---|---|
# | long scoreboard | a value from global memory | usual for a copy; get more bytes in flight |
# | short scoreboard, mio throttle | shared memory | bank conflicts, too many narrow accesses |
# | barrier | the other warps of its block | smaller blocks, more work between two barriers |
# | drain | its stores, before it may end | the stores are bad, or there is little else |
# | not selected | nothing: another warp was chosen | there are enough warps |
#
# Read the picture from above. `scatter`: L2 nearly full, warps drain: *the stores*. `shared_tile`:
# the highest is L1 and shared memory at 60 %, just the threshold of section 2, which decides
# nothing by itself; the short scoreboard does: *the conflicts*. `padded`: no unit above 45 %, and
# what is left is waiting for global memory and at the barrier. A kernel in which nothing is busy is
# limited by **latency**, the time that one answer takes: too little is in flight. A thread of
# `padded` asks for 4 bytes, and then its block of 1,024 threads waits for its slowest warp.
# `padded_4` asks for 16 bytes a thread in blocks of 256. (With a tile of 32 × 32 the two go
# together, so this pair does not say which of them has helped, and how much.) Now DRAM is at 72 %,
# a limit one can live with. (L2 at 82 % carries the same bytes on their way to DRAM; the 88 % of
# `scatter` were the same unit with DRAM at 12 %.) So look at the highest bar, and if it is L2, at
# DRAM as well: both high, and the bytes have to be moved; L2 alone, and too many sectors arrive
# there.
#
# ncu also gives advice, the *rules* (`OPT`). Here they are, each with the gain that it promises:

# %%
for row in csv.DictReader(lines_of("ncu_details.csv")):
    if row["Rule Type"] == "OPT" and row["Estimated Speedup"]:
        name = row["Kernel Name"].removeprefix("transpose_").removesuffix("_0")
        gain = float(row["Estimated Speedup"])
        print(f"{name:11} {gain:5.1f} %  {row['Rule Name']:26} {row['Rule Description'][:62]}…")

# %% [markdown]
# The largest promise is for using the arithmetic units of a transpose, which has no arithmetic.
# Compression of zeros promises 25 % for random numbers. And `SharedMemoryConflicts` is found in
# `padded_4`, which is the noise of section 3. But `UncoalescedGlobalAccess` and
# `UncoalescedSharedAccess` are exact, and each leads to the sick line.
#
# And what was won? For `scatter`'s stores ncu promised 47 % (section 2), and 78 % in another rule.
# With the stores fixed, `padded` is 3.1 times as fast; `padded_4`, 6.5 times. **A rule is a place
# to look at, not a thing to do, and its percentage is not the gain.**
#
# If you have a GPU and ncu, this cell runs section 3's comparison on *your* machine:


# %%
def run_tool(*command):
    """What a tool prints, or why there is nothing."""
    if fk.target.kind != "gpu" or shutil.which(command[0]) is None:
        return f"{command[0]} or a GPU is not here; what is shown was recorded."
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        return "ERR_NVGPUCTRPERM: this user may not read the counters; see section 2."
    return done.stdout


asked = ",".join(hardware["scatter"])
options = ["--clock-control", "none", "-k", "regex:transpose_", "--csv", "--page", "raw"]
program = [sys.executable, "recorded/kernels.py", "transposes"]
printed = run_tool("ncu", *options, "--print-units", "base", "--metrics", asked, *program)
if '"ID"' in printed:
    table = [line for line in printed.splitlines() if line.startswith('"')]
    for name, metrics in read_raw(table).items():
        equal = sum(ours[name][m] == metrics[m] for m in hardware[name])
        print(f"{name:11} {equal} of {len(hardware[name])} numbers are equal here, too")
else:
    print(printed)

# %% [markdown]
# ## 5. Five reports
#
# Five more transposes of the same matrix, of which you see no line. The names on the left are short
# for ncu's, which stand in `recorded/pictures.py`. Each kernel has a problem of its own, or none.

# %%
print(pictures.report_table(report, "ABCDE"))

# %% [markdown] exercise="week0/read_the_report" part="task"
# ### Exercise 1: read five reports
#
# The table above is all you know of five transposes. Say of each what is wrong with it:
# `"sectors"` (it moves too many), `"conflicts"` (of banks), `"lanes"` (too few take part),
# `"occupancy"` (too few warps fit into a multiprocessor; that is the *theoretical* one) or
# `"nothing"`. Then: which one do you fix first, and how many times faster will B be if it gets as
# fast as the fastest of the five (two decimals)?
#
# <details><summary>Hint 1</summary>
#
# Go through the table by rows, not by columns: in each row look for the one that differs.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# What is the least? 4 sectors for 32 lanes of 4 bytes, 1 wavefront, 32 lanes; of theoretical
# occupancy 100 %. Ignore what lies within a tenth of it. L2 that is high together with DRAM is no
# fault.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Four questions, four rows: sectors, wavefronts, lanes, theoretical occupancy. Who is farthest from
# the least in each? What is left has no problem. For the order do not compare counters: all five do
# the same work, so compare times.
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
# **A**: rows of the tile are 48 words apart: two banks for 32 lanes, 16 wavefronts. It takes 1.4
# times E's time, not 16 times: memory is the next bound, close behind. **B** reserves 200 KB of
# shared memory, so one block of 256 threads fits into a multiprocessor, 8 warps of 64; no counter
# of memory is bad, and it is the slowest. **C** loads down the columns; the L1 cache catches 78 %
# of it, and it is slow all the same. **D** lets eight lanes of each warp do the work (the few
# instructions outside the `if` make it 10 on average): four times the instructions, and 1 sector a
# request *because* the requests are small. **E** has eight elements a thread, and moves 76 % of
# what memory can (its L2 is at 84 % with the same bytes on their way): leave it alone, or find a
# way to move fewer bytes.
#
# Four kernels are sick in four places, and only three of those are seen on the virtual GPU: to
# `fk.profile`, the sectors and wavefronts of B are as good as E's.
#
# </details>

# %% [markdown]
# ## 6. From a report to a line
#
# A kernel that turns a matrix by a quarter, recorded on the H200. Stalls are in cycles between two
# instructions of a warp, as above.

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
# ### Exercise 2: fix a slow kernel by its report
#
# `turn` turns a matrix by a quarter to the right: `mY[col, M - 1 - row] = mX[row, col]`. It goes
# through a tile in shared memory, and yet it took 995 µs on the H200; the report stands above. Fix
# it. Two places are marked: the layout of `sT`, and what happens behind the barrier.
#
# <details><summary>Hint 1</summary>
#
# Which line has more sectors than the ideal? In that line, which index of `mY` do neighbouring
# threads, those with consecutive `tidx`, differ in?
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Behind the barrier a thread need not store the element that it loaded. Let `tidx` choose the *row*
# of X (it is the column of Y) and `tidy` the column. Which element of `sT` is that? And which banks
# do 32 lanes read then?
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# Behind the barrier: compute `row` and `col` once more, with tidx and tidy exchanged, before the
# predicate; then read sT with the same exchange. That read goes down a column of sT: which pitch
# has 05 given such a tile?
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
# The store was the sick line: `tidx` ran along `col`, the *row* of `mY`, so each lane had a sector
# of its own. The tile in shared memory was there and of no use, because every thread took back what
# it had stored itself. Exchanging the roles of `tidx` and `tidy` behind the barrier makes the store
# whole, with `M - 1 - row` running downwards, which costs nothing: a request is a set of sectors,
# and has no direction. Then lanes read a column of `sT`, and the padding is needed.
#
# Recorded on the H200: 995 µs before, 312 µs after, with memory busy for 35 % of what it can move.
# The rest is what lies between `padded` and `padded_4` above: four elements a thread, in blocks of
# 256. The virtual GPU cannot show what that is worth, so it is not asked for.
#
# </details>

# %% [markdown]
# ## 7. Between the kernels: nsys
#
# ncu is blind to everything around a kernel. If a program is slow and its kernels are fast, ask
# Nsight Systems *first*; it hardly disturbs the program:
#
# ```
# nsys profile -t cuda,nvtx -o run python my_program.py     # then open run.nsys-rep in nsys-ui
# nsys stats --report cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_time_sum run.nsys-rep
# ```
#
# The first table says which kernels take the time, the second which calls the host spends its time
# in (`cudaStreamSynchronize` at the top: it waits), the third what is copied. Both lines in one, to
# print the three tables: `uv run forgekit profile nsys -- python my_program.py`.
#
# Put names on the time line: `torch.cuda.nvtx.range_push("step")` and `range_pop()`. (**NVTX** is
# NVIDIA's library for such marks in a program; profilers show them, and without one they cost next
# to nothing.)
#
# nsys was not installed on the machine of our recordings. PyTorch has a smaller tool for the same
# question, `torch.profiler`, and that recorded what follows: twelve transposes of 512 × 512 (of
# 1.7 µs each) in three ways, and twelve of 8192 × 8192. (The first of the twelve is left out: under
# a profiler it takes several times as long as the others.)
#
# - *waiting*: after each, the host asks for one element, `y[0, 0].item()`;
# - *queued*: the host launches all of them and waits at the end;
# - *graph*: the twelve launches were recorded as a **CUDA graph** once, and are started as one;
# - *long*: queued, large matrices.
#
# **Predict:** while the small ones run, how many percent of the time has the GPU something to do?
# Write whole numbers.

# %%
timeline = json.loads((RECORDED / "timeline.json").read_text())
busy_said = {"waiting": None, "queued": None, "graph": None}
busy_guess = {
    way: fk.predict(f"{way}: percent of the time the GPU is busy", percent)
    for way, percent in busy_said.items()
}

# %% jupyter={"outputs_hidden": true}
for way, guessed in busy_guess.items():
    guessed.against(round(pictures.busy_percent(timeline["ways"][way])))
pictures.time_lines(timeline["ways"])

# %%
print(f"{'':11} {'µs a transpose':>16}   (without a profiler)")
for way, whole in timeline["wall_us"].items():
    print(f"{way:11} {whole / 12:16.1f}")

# %% [markdown]
# In *waiting* the GPU is idle nearly all the time, and no kernel is to blame. In *queued* the host
# is the limit: a launch takes it longer than the kernel takes the GPU. The graph brings all twelve
# launches to the GPU at once, and there are hardly any gaps. (Under the profiler starting the graph
# takes the host 46 µs; without it, all twelve together take less, see the table.) With *long*
# kernels none of this matters: the host is far ahead, and then waits. A profiler takes time, too,
# and most where calls are many: trust the table, which was measured without one, for the times, and
# the picture for the order.
#
# ## 8. compute-sanitizer, beside ours
#
# ```
# compute-sanitizer --tool memcheck  python my_program.py   # outside of an allocation
# compute-sanitizer --tool racecheck python my_program.py   # races in shared memory
# compute-sanitizer --tool initcheck python my_program.py   # reads of what nobody wrote
# compute-sanitizer --tool synccheck python my_program.py   # wrong barriers
# ```
#
# `uv run forgekit sanitize -- python my_program.py` runs the four one after the other, and prints a
# table of what they found. (Without the `--`, `uv run forgekit sanitize my_program.py` is the
# virtual GPU's sanitizer, which finds mistakes in CuTe DSL kernels.)
#
# It changes the machine code of any program, your own, PyTorch's, in C++, while it is loaded. Small
# sizes help, since it is slow. `recorded/kernels.py bug …` launches six kernels with a mistake in
# each; both sanitizers get the same ones. First the mirror without a barrier, from
# `01_why_slow_why_wrong`:


# %%
theirs = json.loads((RECORDED / "sanitizer.json").read_text())


def ask_ours(bug):
    """The virtual GPU's report on one of the kernels with a mistake."""
    fn, (first, *others) = kernels.BUGS[bug]
    x = fk.ones(*first, device="virtual")
    rest = [fk.empty(*shape, device="virtual") for shape in others]
    return fk.sanitize(fk.compile(fn, x, *rest, device="virtual"), x, *rest)


print(theirs["race_shared"]["text"])
print(ask_ours("race_shared"))

# %% [markdown]
# The same two lines. racecheck has counted hazards by the byte (4 blocks of 64 threads, 4 bytes
# each, make 1,024), and ours names one pair of threads and says what to do.
#
# ### It looks right and is wrong
#
# `overhang` copies 1,000 elements with 8 blocks of 128 threads and no predicate. memcheck exists to
# find just this.
#
# **Predict:** how many errors does it find?

# %%
errors_guess = fk.predict("errors that memcheck finds", None)

# %% jupyter={"outputs_hidden": true}
print(theirs["overhang_cached"]["text"])
found = re.search(r"ERROR SUMMARY: (\d+)", theirs["overhang_cached"]["text"])
errors_guess.against(int(found[1]))

# %% [markdown]
# > **Looks right and is wrong.** No error, and the kernel is wrong. PyTorch asks CUDA for memory in
# > pieces of 2 MB and cuts tensors from them itself. The 24 threads stay inside such a piece, in
# > what belongs to another tensor, or soon will. memcheck knows only the pieces.
#
# With `PYTORCH_NO_CUDA_MEMORY_CACHING=1` in the environment every tensor is a piece of its own:

# %%
print(theirs["overhang"]["text"])
print(ask_ours("overhang"))

# %% [markdown]
# Two errors are shown and 22 more like them are left out, one for each of the 24 threads. The other
# four of the sum, 28, were not kept in the recording. Ours names the first thread.
#
# **Set that variable whenever you use memcheck or initcheck on PyTorch**, as `forgekit sanitize`
# does by itself. Now all six, with it set.
#
# **Predict:** how many of them does compute-sanitizer miss? And which?

# %%
missed_guess = fk.predict("mistakes, of 6, that compute-sanitizer misses", None)

# %% jupyter={"outputs_hidden": true}
missed = 0
print(f"{'mistake':15} {'tool':10} {'compute-sanitizer':20} virtual GPU")
for bug in kernels.BUGS:
    said = theirs[bug]
    verdict = "0 errors" if "0 errors" in said["text"] else "found"
    missed += verdict == "0 errors"
    kinds = {finding.kind for finding in ask_ours(bug).errors}
    print(f"{bug:15} {said['tool']:10} {verdict:20} {', '.join(sorted(kinds))}")
missed_guess.against(missed)

# %% [markdown]
# - racecheck watches **shared memory alone**; `race_global` reads in one block what another may not
#   have written yet.
# - initcheck watches **global memory alone**; `unset_shared` reads a word of its tile that no
#   thread has stored.
# - synccheck said nothing of `split_barrier`, where 8 lanes of a warp come to a barrier and 24 do
#   not. This kernel ends all the same on an H200; the rules do not promise it.
#
# And the virtual GPU? It runs what CuTe DSL compiles and the instructions that it knows, at small
# sizes, and no other library's kernels. compute-sanitizer takes any program as it is. Use ours
# while you write a kernel, theirs before others use it. Neither finds an index that is wrong and
# stays inside its tensor: that is what `fk.check` is for.

# %% [markdown] exercise="week0/which_tool" part="task"
# ### Exercise 3: which tool answers it?
#
# Write the tool that answers the question: `"virtual GPU"` (`fk.profile`, `fk.sanitize`), `"ncu"`,
# `"nsys"` or `"compute-sanitizer"`. Each question has one that is right.
#
# | question | in words |
# |---|---|
# | `idle between` | A training step takes 40 ms, its kernels 10 ms together. Where is the rest? |
# | `DRAM percent` | How close is this kernel to the bandwidth of this GPU's memory? |
# | `crash of a C++ program` | A program in C++ ends with "an illegal memory access". Where? |
# | `global race` | Does a block of my kernel read what another may not have written yet? |
# | `line without a GPU` | Which line of my kernel has bank conflicts? I have a laptop. |
# | `stalls` | All counters are ideal and the kernel is slow. What do its warps wait for? |
# | `memcpy` | Does somebody copy a tensor to the host in every step? |
#
# <details><summary>Hint 1</summary>
#
# Ask of each tool what it watches: a kernel's instructions (which of two places?), a kernel's time,
# a program's time, or a program's mistakes.
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# Two of them are about what happens *outside* of kernels; one tool alone looks there.
#
# </details>
#
# <details><summary>Hint 3</summary>
#
# nsys, ncu and the virtual GPU are the answer to two questions each, compute-sanitizer to one: the
# one about a mistake in a program that is not written in CuTe DSL.
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
# nsys sees the program from outside and names what is worth a look; ncu takes one kernel apart;
# compute-sanitizer finds wrong accesses of any program; the virtual GPU counts and checks CuTe DSL
# kernels by line, exactly, without a GPU and without time.
#
# </details>

# %% [markdown]
# ## 9. A kernel is slow: look here, in this order
#
# | | question | how | then |
# |---|---|---|---|
# | 1 | Is it right? | `fk.check(…, again=…)`, `fk.sanitize` | fix it first |
# | 2 | Is it the kernel at all? | nsys: gaps, copies, `.item()` | queue, graph, larger pieces |
# | 3 | How far from the bound? | `fk.profile(…).bound_s("H200")` | near: stop |
# | 4 | Is too much moved? | sectors against ideal, by line | coalesce, vectorise |
# | 5 | Are there bank conflicts? | wavefronts against ideal, by line | pad, swizzle |
# | 6 | Are lanes idle? | lanes an instruction | share the work out otherwise |
# | 7 | Does it spill? | `run.spill_bytes` | fewer values at once |
# | 8 | Are there too few warps? | ncu: Occupancy, block limits | less shared memory, registers |
# | 9 | Is too little in flight? | ncu: nothing busy, long scoreboard | more bytes a thread |
# | 10 | Is one unit full? | ncu: Speed Of Light over 80 % | do less of that; DRAM high too: done |
#
# Steps 1 and 3 to 7 need no GPU. Then change *one* thing, measure again, and keep the number.
#
# ## Summary
#
# Of 8192 × 8192 float32, recorded on the H200. "By itself" is without ncu, between two **CUDA
# events**, marks in the GPU's queue of work that note the time when the GPU comes to them:

# %%
print(f"{'':11} {'sectors a':>10} {'wavefronts a':>13} {'DRAM':>6} {'ncu':>8} {'by itself':>10}")
print(f"{'':11} {'store':>10} {'shared load':>13} {'%':>6} {'µs':>8} {'µs':>10}")
for name, p in ours.items():
    store, waves = p.global_store_sectors_per_request, p.shared_load_wavefronts_per_request
    percent = report[name][pictures.UNITS["DRAM"]]
    with_ncu, alone = duration_us[name], timeline["event_us"][name]
    print(f"{name:11} {store:10.0f} {waves:13.0f} {percent:6.0f} {with_ncu:8.0f} {alone:10.0f}")
bound = 64 * ours["padded_4"].bound_s("H200") * 1e6
print(f"\nat least {bound:.0f} µs, if memory did nothing else at its peak")

# %% [markdown]
# | tool | sees | does not see |
# |---|---|---|
# | virtual GPU | each access by line, races, unwritten memory, exactly | time, caches, other code |
# | ncu | one kernel's limits, stalls and counts, on real hardware | gaps, mistakes |
# | nsys | host, kernels, copies and gaps of a program | why a kernel takes its time |
# | compute-sanitizer | wrong accesses of any program | races in global memory; see section 8 |
#
# **In practice** a report is made at every change that is meant to be faster, on one GPU with fixed
# sizes, and kept with the change; `ncu --import old.ncu-rep` and the window's *baselines* compare
# two. Times are taken without ncu, with a warm-up, and with the median of many. Production code
# names its kernels and puts NVTX ranges around its steps long before anybody has to look.
#
# **Further reading:** [ncu's options](https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html)
# · [ncu: metrics, sections, stalls](https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html)
# · [permission to read counters](https://developer.nvidia.com/ERR_NVGPUCTRPERM)
# · [nsys](https://docs.nvidia.com/nsight-systems/UserGuide/index.html)
# · [compute-sanitizer](https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html)
# · *What the virtual GPU models*, a page of this course's book (`book/virtual_gpu.md`)
#
# **Next:** ten whole kernels from an empty body ([`10_practice`](10_practice.ipynb)), then week 1,
# where threads have to agree on one number: reductions
# ([`00_what_is_the_right_sum`](../week1_reduce/00_what_is_the_right_sum.ipynb)).

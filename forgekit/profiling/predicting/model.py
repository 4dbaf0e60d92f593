"""Predict the time of a launch on a GPU from its counts.

A kernel is bound by the resource that it keeps busy longest (device memory, caches, issue slots,
block launches) or by waiting. Each bound is work divided by rate. The predicted time is the 3-norm
of the bounds plus the time to start the launch, so two equal bounds give a longer time than one of
them alone (S. Williams, A. Waterman, D. Patterson, "Roofline", 2009, uses the maximum). The time
spent waiting follows from Little's law, applied to the resident blocks; a block takes as long as
its warps wait, as in S. Hong and H. Kim, "An analytical model for a GPU architecture with
memory-level and thread-level parallelism awareness", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forgekit.profiling.multiprocessor import Multiprocessor
from forgekit.profiling.predicting.facts import Facts

SECTOR, PAIR, LINE_SECTORS = 32, 64, 4
_NORM = 3.0
AGAIN_US = 1.0  # start-up time of a launch that directly follows another

# Limits per multiprocessor for compute capabilities 8.0 to 10.0: CUDA C++ Programming Guide.
_WARPS, _BLOCKS = 64, 32
REGISTERS = 32  # registers per thread if a kernel's registers are unknown

BOUNDS = {
    "start": "the launch itself",
    "launch": "start of blocks",
    "dram": "device memory",
    "l2": "L2 cache",
    "l1": "cache lines through L1",
    "shared": "shared-memory wavefronts",
    "issue": "issue slots",
    "fp32": "float32 arithmetic",
    "int": "integer arithmetic",
    "fp64": "float64 arithmetic",
    "special": "special functions",
    "shuffle": "shuffles",
    "barrier": "barriers",
    "tensor": "tensor cores",
    "atomics": "atomics on few addresses",
    "latency": "latency",
}
_PIPES = ("fp32", "int", "fp64", "special", "shuffle", "barrier")


@dataclass(frozen=True)
class Constants:
    """The model's constants for a GPU, stored in files in `forgekit/profiling/predicting/gpus`.

    multiprocessors: the number of multiprocessors; clock: the clock rate in GHz; shared_kb: kB of
    shared memory per multiprocessor; start_us: the time to start a launch; blocks: blocks started
    per ns; cluster_blocks: blocks in clusters started per ns. dram, l2: bandwidths in TB/s. l2_mb:
    the capacity of L2, in MB, for repeated accesses; far, far_stores: bytes moved per byte of loads
    and stores that miss. partial: the extra cost of partly written sectors.

    Rates per clock and multiprocessor: lines: lines through L1 (a scattered sector counts as
    `scattered` lines); shared: shared-memory wavefronts; issue, fp32, int, fp64, special, shuffle,
    barrier: warp instructions; fmas: multiply-adds of tensor cores. atomics: passes over the same
    512 bytes per ns.

    Waiting: latency, l2_latency: relative to a nominal 600 cycles; waits: the factor for the other
    waits in `forgekit.vgpu.counters.waits`; serial: cycles per line in a warp; block_cycles: cycles
    per warp of a block; uneven: the fraction of the longest block's excess that counts.
    """

    multiprocessors: int
    clock: float
    shared_kb: float
    start_us: float
    blocks: float
    cluster_blocks: float
    dram: float
    l2: float
    l2_mb: float
    far: float
    far_stores: float
    partial: float
    lines: float
    scattered: float
    shared: float
    issue: float
    fp32: float
    int: float
    fp64: float
    special: float
    shuffle: float
    barrier: float
    fmas: float
    atomics: float
    latency: float
    l2_latency: float
    waits: float
    serial: float
    block_cycles: float
    uneven: float


def resident_blocks(f: Facts, gpu: Constants) -> int:
    """Return the number of blocks, at least 1, that can be resident on a multiprocessor. If a
    kernel's register count is unknown, assume REGISTERS per thread.
    """
    multiprocessor = Multiprocessor(_WARPS, _BLOCKS, int(gpu.shared_kb * 1024))
    limits = multiprocessor.limits(f.threads, f.registers or REGISTERS, f.shared_bytes)
    return max(1, min(limits.values()))


def bounds(f: Facts, gpu: Constants) -> dict[str, float]:
    """Map each name in BOUNDS to its bound in microseconds."""
    clock = gpu.clock * 1e3  # cycles per us
    room = gpu.multiprocessors * resident_blocks(f, gpu)
    busy = float(gpu.multiprocessors)
    if f.blocks <= room:  # some multiprocessors run one more block than others
        busy = f.blocks / -(-f.blocks // gpu.multiprocessors)
    stored = f.sectors.get("global_store", 0)
    whole = f.ideal.get("global_store", 0) / stored if stored else 1.0
    moved, missed = _device_memory(f, gpu, min(f.blocks, room))
    lines = sum(
        f.ideal[kind] / LINE_SECTORS + gpu.scattered * (n - f.ideal[kind])
        for kind, n in f.sectors.items() if kind.startswith("global")
    )  # fmt: skip
    wavefronts = sum(n for kind, n in f.sectors.items() if kind.startswith("shared"))
    sectors = f.loads + max(stored, f.stores) + f.atomics + gpu.partial * (1 - whole) * stored
    found = {
        "launch": f.blocks / (gpu.blocks if f.cluster == 1 else gpu.cluster_blocks) / 1e3,
        "dram": moved / gpu.dram / 1e6,
        "l2": (sectors * SECTOR + f.bulk_bytes) / gpu.l2 / 1e6,
        "l1": lines / (gpu.lines * busy * clock),
        "shared": wavefronts / (gpu.shared * busy * clock),
        "issue": f.issued / (gpu.issue * busy * clock),
        "tensor": f.fmas / (gpu.fmas * busy * clock),
        "atomics": _atomics(f) / gpu.atomics / 1e3,
    }
    for pipe in _PIPES:
        found[pipe] = f.slots.get(pipe, 0) / (getattr(gpu, pipe) * busy * clock)
    cycles = _cycles_of_a_warp(f, gpu, missed, lines)
    cycles *= 1 + gpu.uneven * (f.longest - 1)
    cycles += gpu.block_cycles * f.warps / f.blocks
    found["latency"] = max(f.blocks / room, 1.0) * cycles / clock
    return found


def microseconds(facts: Sequence[Facts], gpu: Constants) -> float:
    """Predict the total time of consecutive launches in microseconds."""
    return sum((gpu.start_us if k == 0 else AGAIN_US) + combined(bounds(f, gpu))
               for k, f in enumerate(facts))  # fmt: skip


def combined(of: Mapping[str, float]) -> float:
    """Return the time for work that uses several resources at the same time: the 3-norm of the
    resources' times.
    """
    most = max(of.values(), default=0.0)
    return most * sum((v / most) ** _NORM for v in of.values()) ** (1 / _NORM) if most else 0.0


def _device_memory(f: Facts, gpu: Constants, together: int) -> tuple[float, float]:
    """Return the bytes that device memory moves, and the fraction of loads that miss L2.

    together: the number of blocks that run at the same time. Bytes that these blocks share are
    moved once; later accesses by other blocks hit if the bytes still fit in L2.
    """
    read, written = f.read_sectors * SECTOR, f.written_sectors * SECTOR
    rounds = f.blocks / together * SECTOR
    loads = _union(f.loads / f.blocks, f.near_loads, f.loads, together) * rounds
    stores = _union(f.stores / f.blocks, f.near_stores, f.stores, together) * rounds
    read_again = max(loads - read, 0.0) * _missing(read, gpu) * gpu.far
    written_again = max(stores - written, 0.0) * _missing(written, gpu) * gpu.far_stores
    from_memory = f.read_pairs * PAIR + read_again
    share = min(from_memory / (f.loads * SECTOR), 1.0) if f.loads else 1.0
    return from_memory + written + written_again, share


def _missing(size: float, gpu: Constants) -> float:
    return max(1 - gpu.l2_mb * 1e6 / size, 0.0) if size else 0.0


def _union(each: float, near: float, all_: float, together: int, neighbours: int = 16) -> float:
    """Estimate the number of distinct sectors that blocks running together access, by a model in
    which each block draws its sectors at random from a pool.

    each: sectors of one block. near, all_: sectors of the whole launch; near counts a sector that
    16 neighbours share only once, and all_ counts it once per block. The ratio of near to all_
    determines the size of the pool.
    """
    if each <= 0 or near >= all_ * (1 - 1e-6):
        return each * together
    low, high = 1e-9, 1 - 1e-12  # the fraction of the pool that one block touches
    for _ in range(60):
        part = math.sqrt(low * high)
        if -math.expm1(neighbours * math.log1p(-part)) / (neighbours * part) > near / all_:
            low = part
        else:
            high = part
    return each / part * -math.expm1(together * math.log1p(-part))


def _atomics(f: Facts) -> float:
    """Return the number of passes by atomic operations that are serialised because they access the
    same 512 bytes.
    """
    kinds = ("global_reduction", "global_atomic")
    requests, units, ideal = (
        sum(of.get(kind, 0) for kind in kinds) for of in (f.requests, f.sectors, f.ideal)
    )
    if units <= 1.05 * ideal:  # neighbouring addresses need one pass per cache line
        passes = max(requests, units / LINE_SECTORS)
    elif ideal <= 1.5 * requests:  # a single address needs one pass per lane
        passes = units
    else:
        passes = 0.4 * units
    return passes / max(f.atomic_sectors / 16, 1.0)


def _cycles_of_a_warp(f: Facts, gpu: Constants, missed: float, lines: float) -> float:
    """Return the number of cycles from the first to the last instruction of a block that runs alone
    on its multiprocessor.
    """
    asked = f.sectors.get("global_load", 0) + f.sectors.get("global_async", 0)
    new = min(f.warp_loads / asked, 1.0) if asked else 1.0  # the fraction that misses L1
    latency = (gpu.latency * missed + gpu.l2_latency * (1 - missed)) * new
    cycles = sum((latency if what == "global" else gpu.waits) * n for what, n in f.waits.items())
    return (cycles + f.issued + gpu.serial * lines) / f.warps

"""Clusters: addresses in other blocks' shared memory, the cluster's barrier."""

from __future__ import annotations

import numpy as np

from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine import Machine
from forgekit.vgpu.machine.barriers import ClusterBarrier
from forgekit.vgpu.memory import clusters
from forgekit.vgpu.opcodes import Compute, UnknownVariantError, allow, counted, opcode
from forgekit.vgpu.opcodes.decoder import Decoder, Step
from forgekit.vgpu.ptx import Instruction

_ORDER = ("release", "relaxed", "acquire", "aligned")


@opcode("mapa")
def mapa(ins: Instruction, d: Decoder) -> Compute:
    """`mapa[.shared::cluster].type d, a, rank`: a's place in another block of the cluster."""
    allow(ins, "shared:cluster", "u32", "u64")
    bits = "b" + ins.opcode[-1][1:]
    return Compute(clusters.mapped, (bits, "u32"), bits)


@opcode("getctarank")
def getctarank(ins: Instruction, d: Decoder) -> Step:
    """`getctarank[.shared::cluster].type d, a`: which block of the cluster an address is in."""
    allow(ins, "shared:cluster", "u32", "u64")
    to, address = counted(ins, 2)
    fetch = d.fetch(address, "b" + ins.opcode[-1][1:])
    write = d.writer(to, "u32")
    return lambda m: write(m, clusters.split(m, fetch(m))[0].astype(np.uint32))


@opcode("barrier.cluster")
def barrier_cluster(ins: Instruction, d: Decoder) -> Step:
    """`barrier.cluster.arrive` and `.wait`; both order memory here, `.relaxed` too."""
    allow(ins, "cluster", "arrive", "wait", *_ORDER)
    arrives = "arrive" in ins.opcode
    if not arrives and "wait" not in ins.opcode:
        raise UnknownVariantError("neither arrive nor wait")

    def arrive(m: Machine, mask: Array | None) -> None:
        _barrier(m).arrive(mask)

    def wait(m: Machine, mask: Array | None) -> bool:
        passing = _barrier(m).wait(mask)
        for listener in m.listeners:
            listener.on_cluster_wait(m, passing)
        skipping = ~m.expand(mask)
        return m.sleep_until(passing | skipping, "cluster", _cluster_of(m))

    return d.guarded(arrive if arrives else wait)


def _barrier(m: Machine) -> ClusterBarrier:
    if m.cluster_barrier is None:
        m.cluster_barrier = ClusterBarrier(m)
    return m.cluster_barrier


def _cluster_of(m: Machine) -> Array:
    return np.arange(m.n_blocks, dtype=np.int64)[:, None] // m.cluster_blocks

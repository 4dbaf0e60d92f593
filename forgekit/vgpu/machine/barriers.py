"""Implement barriers: `bar.sync` and `bar.arrive` within a block, and `barrier.cluster`.

Without a thread count, a block barrier waits for every thread of the block that has not exited.
With a count, it waits for that number of threads and, as in hardware, counts whole warps: a warp
counts as 32 threads when all its lanes that exist and have not exited have arrived. If only some of
these lanes have arrived, they do not count unless no thread could otherwise continue.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import numpy as np

from forgekit.vgpu.batch import EVERYONE, Arrival, Barrier, Vote
from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.launch_record import WARP
from forgekit.vgpu.machine.groups import Groups
from forgekit.vgpu.machine.wait_queue import WaitQueue
from forgekit.vgpu.wording import got_needed

BARRIERS_PER_BLOCK = 16  # PTX ISA, "barrier": numbers 0 to 15


class Barriers:
    """The block barriers of a batch. `waiting` contains the barriers at which threads have
    arrived."""

    def __init__(self, machine: Groups) -> None:
        # The reference is weak because a cycle would keep the batch's registers in memory until
        # Python's garbage collector runs.
        self.machine: Groups = weakref.proxy(machine)
        self.waiting = machine.at_barriers

    def pcs(self) -> Iterator[int]:
        """Yield the program counters at which threads wait."""
        for barrier in self.waiting.values():
            for arrival in barrier.arrivals:
                if arrival.waits:
                    yield arrival.pc

    def arrive(
        self, number: int, count: int | None, mask: Array | None, wait: bool,
        vote: Vote | None = None,
    ) -> bool:  # fmt: skip
        """Record that the threads in `mask` arrive at barrier `number`.

        count: the number of threads for which the barrier waits, or None for the whole block.
        Return True if the scheduler must choose a group again, because the threads wait or because
        the barrier has opened and they continue in another group.
        """
        m = self.machine
        self._check(number, count)
        everyone = m.alone and wait and mask is m.mask and m.adversary is None
        if everyone and (count is None or self._is_everyone(count)):
            for listener in m.listeners:
                listener.on_barrier(m, mask, number, count)
                listener.on_barrier_done(m, mask, number)
            self._count([Arrival(m.pc, m.expand(mask), True, vote)], m.expand(mask))
            return False
        barrier = self.waiting.get(number)
        if barrier is None:
            barrier = self.waiting[number] = Barrier(np.full(m.n_blocks, -1))
        full = m.expand(mask)
        if count is not None and self._too_many(barrier, count, full):
            return self._one_by_one(number, count, full, wait, vote)
        for listener in m.listeners:
            listener.on_barrier(m, mask, number, count)
        blocks = full.any(axis=1)
        expected = EVERYONE if count is None else count
        known = barrier.counts[blocks]
        other = known[(known != -1) & (known != expected)]
        if len(other):
            raise self._mismatch(number, expected, int(other[0]), mask)
        barrier.counts[blocks] = expected
        barrier.arrivals.append(Arrival(m.pc, full, wait, vote))
        self.release(number)
        return wait

    def _too_many(self, barrier: Barrier, count: int, arriving: Array) -> bool:
        """Return True if several warps arrive together and exceed the number of threads that the
        barrier still needs."""
        already = np.where(barrier.counts == -1, 0, self.arrived(barrier))
        several = arriving.reshape(len(arriving), -1, WARP).any(axis=2).sum(axis=1)
        new = arriving.sum(axis=1)
        return bool(((already + new > count) & (several > 1)).any())

    def _one_by_one(
        self, number: int, count: int, arriving: Array, wait: bool, vote: Vote | None
    ) -> bool:
        """Record the arrival of one warp after another, in index order."""
        warp_of = np.arange(arriving.shape[1]) // WARP
        for warp in range(arriving.shape[1] // WARP):
            part = arriving & (warp_of == warp)
            if part.any():
                self.arrive(number, count, part, wait, vote)
        return wait

    def _is_everyone(self, count: int) -> bool:
        m = self.machine
        if count not in (m.block_threads, m.n_threads):
            return False
        return m.alive is None or bool(m.alive[..., : m.block_threads].all())

    def release_all(self) -> None:
        """Open all barriers that waited only for threads that have exited."""
        for number in list(self.waiting):
            self.release(number)

    def open_with_parts(self) -> bool:
        """Open barriers after also counting lanes of incomplete warps; return True if a thread can
        continue."""
        for number in list(self.waiting):
            self.release(number, parts=True)
        return bool(self.machine.runnable)

    def arrived(self, barrier: Barrier, parts: bool = False) -> Array:
        """Return, for each block, the number of threads that the barrier counts as arrived.

        parts: True to count lanes of incomplete warps.
        """
        m, times = self.machine, self._times(barrier)
        everyone = (times.reshape(m.shape) * m.expand(m.alive)).sum(axis=1)
        by_warp = times.sum(axis=2) if parts else WARP * times.min(axis=2)
        return np.where(barrier.counts == EVERYONE, everyone, by_warp.sum(axis=1))

    def _times(self, barrier: Barrier) -> Array:
        """Return the number of arrivals of each lane, of shape (blocks, warps, lanes).

        A lane that does not exist or has exited counts as arriving with the rest of its warp.
        """
        m = self.machine
        times = np.zeros(m.shape, np.int64)
        for arrival in barrier.arrivals:
            times += arrival.mask
        by_warp = times.reshape(m.n_blocks, -1, WARP)
        absent = (by_warp == 0) & ~m.expand(m.alive).reshape(by_warp.shape)
        return np.where(absent, by_warp.max(axis=2, keepdims=True), by_warp)

    def release(self, number: int, parts: bool = False) -> None:
        """Open barrier `number` in the blocks in which all expected threads have arrived; parts: as
        in `arrived`."""
        m, barrier = self.machine, self.waiting[number]
        alive = m.expand(m.alive).sum(axis=1)
        expected = np.where(barrier.counts == EVERYONE, alive, barrier.counts)
        here = barrier.counts != -1
        done = here & (self.arrived(barrier, parts) >= expected)
        if not done.any():
            return
        whole = np.repeat(self._times(barrier).min(axis=2) > 0, WARP, axis=1)
        leaving = done[:, None] & (whole | parts | (barrier.counts == EVERYONE)[:, None])
        if m.listeners:
            met = np.logical_or.reduce([a.mask for a in barrier.arrivals]) & leaving
            for listener in m.listeners:
                listener.on_barrier_done(m, met, number)
        self._count(barrier.arrivals, leaving)
        remaining = []
        for pc, mask, waits, vote in barrier.arrivals:
            released, kept = mask & leaving, mask & ~leaving
            if waits and released.any():
                m.resume(pc + 1, None if released.all() else released)
            if kept.any():
                remaining.append(Arrival(pc, kept, waits, vote))
        left = [mask.any(axis=1) for _, mask, _, _ in remaining]
        barrier.counts[done & ~np.logical_or.reduce(left, axis=0)] = -1
        barrier.arrivals = remaining
        if not remaining:
            del self.waiting[number]

    @staticmethod
    def _count(arrivals: list[Arrival], done: Array) -> None:
        """Write the result of the votes to the voters' registers when a barrier opens in the blocks
        `done`."""
        voted = [(a.mask & done, a.vote) for a in arrivals if a.vote is not None]
        yes = sum((mask & vote.yes).sum(axis=1) for mask, vote in voted)
        voters = sum(mask.sum(axis=1) for mask, _ in voted)
        for mask, vote in voted:
            vote.take(np.asarray(yes), np.asarray(voters), mask)

    def _check(self, number: int, count: int | None) -> None:
        where = self.machine.where()
        if not 0 <= number < BARRIERS_PER_BLOCK:
            raise self._error(
                f"barrier, {where}", f"number {number}",
                f"0 to {BARRIERS_PER_BLOCK - 1}", "use one of the block's 16 barriers",
            )  # fmt: skip
        if count is not None and (count <= 0 or count % WARP):
            raise self._error(
                f"barrier {number}, {where}", f"{count} threads", "a multiple of 32",
                "count whole warps",
            )  # fmt: skip

    def _mismatch(self, number: int, count: int, other: int, mask: Array | None) -> KernelError:
        m = self.machine
        name = {EVERYONE: "the whole block"}
        return self._error(
            f"barrier {number}, {m.where()}",
            f"{name.get(count, f'{count} threads')} from {m.who(mask)}",
            f"{name.get(other, f'{other} threads')}, the count that other threads of the "
            "block pass to this barrier",
            "pass the same count to every barrier() and barrier_arrive() with this number, or use "
            "another number",
        )

    def _error(self, what: str, got: str, needed: str, remedy: str) -> KernelError:
        error = KernelError(got_needed(what, got, needed, remedy))
        return self.machine.marked(error, "barrier-count")


class ClusterBarrier:
    """The barriers of a batch's clusters (`barrier.cluster`): a barrier opens when every thread of
    its cluster that has not exited has arrived.

    since: the phase in which each thread arrived, or -1 if it has not arrived since its last wait.
    """

    def __init__(self, machine: Groups, wait_queue: WaitQueue) -> None:
        self.machine: Groups = weakref.proxy(machine)
        self.wait_queue = wait_queue
        self.phase = np.zeros(machine.n_blocks // machine.cluster_blocks, np.int64)
        self.since = np.full(machine.shape, -1, np.int64)

    def _now(self) -> Array:
        """Return the phase of each block's cluster, of shape (blocks, 1)."""
        return np.repeat(self.phase, self.machine.cluster_blocks)[:, None]

    def here(self) -> Array:
        """Return a mask of the threads that have arrived in the current phase."""
        return np.asarray(self.since == self._now())

    def arrive(self, mask: Array | None) -> None:
        m = self.machine
        who = m.expand(mask)
        if (self.since[who] >= 0).any():
            raise self._misused(
                who & (self.since >= 0), "arrives again without waiting after the previous arrival"
            )
        self.since = np.where(who, self._now(), self.since)
        for listener in m.listeners:
            listener.on_cluster_arrive(m, mask)
        self.release()

    def release(self) -> None:
        """Open the barriers of the clusters in which every thread that has not exited has
        arrived."""
        m = self.machine
        here, n = self.here(), len(self.phase)
        missing = m.expand(m.alive) & ~here
        done = here.reshape(n, -1).any(axis=1) & ~missing.reshape(n, -1).any(axis=1)
        if not done.any():
            return
        self.phase = self.phase + done
        for listener in m.listeners:
            listener.on_cluster_done(m, done)
        self.wait_queue.wake("cluster", done)

    def wait(self, mask: Array | None) -> Array:
        """Return a mask, of shape (blocks, threads), of the threads in `mask` whose barriers are
        open, and end the wait of these threads."""
        who = self.machine.expand(mask)
        if (self.since[who] < 0).any():
            raise self._misused(who & (self.since < 0), "waits without having arrived")
        passing = who & (self.since < self._now())
        self.since = np.where(passing, -1, self.since)
        return np.asarray(passing)

    def _misused(self, who: Array, does: str) -> KernelError:
        m = self.machine
        text = (
            f"Cluster barrier: {m.where()}\n"
            f"  {m.who(who)} {does}.\n"
            "Every thread must call cute.arch.cluster_arrive() once and then "
            "cute.arch.cluster_wait() once."
        )
        return m.marked(KernelError(text), "barrier-count")

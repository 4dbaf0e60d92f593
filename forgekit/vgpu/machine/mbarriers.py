"""Implement mbarriers: barrier objects in shared memory that count arrivals and bytes.

An mbarrier is a 64-bit word of shared memory, in a format that forgekit defines. Its phase ends
when its full number of arrivals and all expected bytes have arrived. Bytes may arrive
(`complete_tx`) before they are expected (`expect_tx`): see PTX ISA, "mbarrier".
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

import numpy as np

from forgekit.vgpu.access import addressing
from forgekit.vgpu.errors import KernelError
from forgekit.vgpu.floats import Array
from forgekit.vgpu.machine.groups import Groups
from forgekit.vgpu.machine.wait_queue import WaitQueue

BYTES = 8
MOST_ARRIVALS = (1 << 20) - 1  # also the maximum number of outstanding bytes

# The fields of the word: missing bytes (21 bits, signed), missing arrivals and arrivals per phase
# (20 bits each), the parity of the phase, and a bit that marks an mbarrier.
_TX, _PENDING, _EXPECTED, _PHASE, _MARK = 0, 21, 41, 61, 62
_TX_BITS, _COUNT_BITS = 21, 20


class State(NamedTuple):
    """The fields of mbarriers, as int64: missing bytes, missing arrivals, arrivals per phase, and
    parity."""

    tx: Array
    pending: Array
    expected: Array
    phase: Array


def unpack(words: Array) -> State:
    """Unpack 64-bit words into fields."""
    bits = words.astype(np.int64)
    count = (1 << _COUNT_BITS) - 1
    tx = bits & ((1 << _TX_BITS) - 1)
    return State(
        tx - (tx >> (_TX_BITS - 1) << _TX_BITS),
        bits >> _PENDING & count,
        bits >> _EXPECTED & count,
        bits >> _PHASE & 1,
    )


def pack(s: State) -> Array:
    """Pack fields into 64-bit words."""
    bits = (s.tx & ((1 << _TX_BITS) - 1)) << _TX | s.pending << _PENDING | s.expected << _EXPECTED
    return np.asarray(bits | s.phase << _PHASE | 1 << _MARK).astype(np.uint64)


class Mbarriers:
    """The mbarriers of a batch. An mbarrier is identified by the index of its 64-bit word in the
    batch's shared memory."""

    def __init__(self, machine: Groups, wait_queue: WaitQueue) -> None:
        self.machine: Groups = weakref.proxy(machine)
        self.wait_queue = wait_queue
        self._known: Array | None = None  # the content of each word that is an mbarrier, or 0
        self._bytes: Array | None = None  # expected and arrived bytes in each word's phase

    @property
    def _words(self) -> Array:
        return self.machine.shared.view(BYTES, 1)

    def places(self, space: str, address: Array, mask: Array | None) -> Array:
        """Return the index of each thread's mbarrier, of shape (blocks, threads); 0 for threads
        outside the mask.

        Raises:
            MemoryAccessError: an address is outside shared memory, or not a multiple of 8.
        """
        m = self.machine
        full = m.expand(mask)
        result = np.zeros(m.shape, np.int64)
        for t in addressing.targets(m, space, "uses an mbarrier of", address, mask, BYTES, 1):
            if t.space != "shared":
                raise self._error("passes an address outside shared memory", full)
            here = full if t.mask is None else full & t.mask
            result = np.where(here, t.places, result)
        return result

    def init(self, words: Array, counts: Array) -> None:
        """Execute `mbarrier.init`: set the number of arrivals per phase."""
        if ((counts < 1) | (counts > MOST_ARRIVALS)).any():
            raise self._error(
                f"initialises an mbarrier with a count of {counts.min():,}, but the count must be "
                f"1 to {MOST_ARRIVALS:,}"
            )
        if self._known is None:
            self._known = np.zeros(len(self._words), np.uint64)
        none = np.zeros_like(counts)
        self._words[words] = self._known[words] = pack(State(none, counts, counts, none))

    def invalidate(self, words: Array) -> None:
        """Execute `mbarrier.inval`, after which the kernel may use the memory for other data."""
        self.read(words)
        assert self._known is not None
        self._known[words] = 0

    def read(self, words: Array) -> Array:
        """Return the 64-bit content of mbarriers.

        Raises:
            KernelError: a word is not an mbarrier.
        """
        found = self._words[words]
        bad = found == 0 if self._known is None else (found != self._known[words]) | (found == 0)
        if self._known is None or bad.any():
            who = self.machine.expand(self.machine.mask).copy()
            if np.count_nonzero(who) == bad.size:  # one word per active thread
                who[who] = bad.reshape(-1) | (self._known is None)
            raise self._error(
                "uses an mbarrier that mbarrier_init() has not initialised or that has been "
                "overwritten", who,
            )  # fmt: skip
        return found

    def change(
        self, words: Array, arrivals: Array, tx: Array, *, drop: bool = False, ends: bool = True
    ) -> Array:
        """Record the arrival of threads and change the number of missing bytes, thread by thread;
        return the old words.

        words, arrivals, tx: for each thread, the index of its mbarrier, its number of arrivals, and
        the change in the number of missing bytes; drop: True if later phases do not wait for these
        arrivals; ends: True if a phase may end.
        """
        old = self.read(words)
        if tx.any():
            if self._bytes is None:
                self._bytes = np.zeros((2, len(self._words)), np.int64)
            np.add.at(self._bytes[0], words, np.maximum(tx, 0))
            np.add.at(self._bytes[1], words, np.maximum(-tx, 0))
        unique, of = np.unique(words, return_inverse=True)
        state = unpack(self._words[unique])
        n = len(unique)
        arrived = np.bincount(of, arrivals, n).astype(np.int64)
        pending, missing = state.pending - arrived, state.tx + np.bincount(of, tx, n).astype(int)
        expected = state.expected - arrived if drop else state.expected
        # A phase can end before the last of these threads arrives only if too many threads or bytes
        # arrive.
        midway = (pending < 0) | ((arrived == 0) & (pending == 0) & (missing < 0))
        over = (pending == 0) & (missing == 0)
        if (np.abs(missing) > MOST_ARRIVALS).any():
            raise self._error(f"expects more than {MOST_ARRIVALS:,} pending bytes")
        phase = state.phase ^ over
        after = State(missing, np.where(over, expected, pending), expected, phase)
        if midway.any():
            over = over.copy()
            after = self._one_by_one(np.flatnonzero(midway), of, state, after, arrivals, tx, over)
        if not ends and over.any():
            raise self._error("arrives with noComplete but would end the phase")
        assert self._known is not None
        self._words[unique] = self._known[unique] = pack(after)
        self.wait_queue.made_progress()
        if over.any():
            self._phases_end(unique[over])
        return old

    def _one_by_one(
        self, which: Array, of: Array, before: State, after: State, arrivals: Array, tx: Array,
        over: Array,
    ) -> State:  # fmt: skip
        """Compute the fields of the mbarriers `which` again, thread by thread, and return `after`
        with these fields. Set `over` to True for the mbarriers in `which` whose phases end."""
        fields = [field.copy() for field in after]
        over[which] = False
        for i in which.tolist():
            missing, pending, expected, phase = (int(field[i]) for field in before)
            for thread in np.flatnonzero(of == i).tolist():
                missing += int(tx[thread])
                pending -= int(arrivals[thread])
                if pending < 0:
                    raise self._error("arrives more times than the mbarrier's count allows")
                if pending == 0 and missing == 0:
                    pending, phase = expected, phase ^ 1
                    over[i] = True
            for field, value in zip(fields, (missing, pending, expected, phase), strict=True):
                field[i] = value
        return State(*fields)

    def _phases_end(self, words: Array) -> None:
        m = self.machine
        if self._bytes is not None:
            self._bytes[:, words] = 0
        for listener in m.listeners:
            listener.on_mbarrier_phase(m, words)
        ended = np.zeros(len(self._words), bool)
        ended[words] = True
        self.wait_queue.wake("mbarrier", ended)

    # -- messages ---------------------------------------------------------------------------------
    def describe(self, word: int) -> str:
        """Describe the missing arrivals and bytes of an mbarrier."""
        m = self.machine
        tx, pending, expected, phase = (int(f[0]) for f in unpack(self._words[word : word + 1]))
        row, offset = divmod(word * BYTES, m.shared.stride)
        block, _ = m.record.coordinates(m.blocks[row], 0)
        bytes_missing = f" and {tx:,} bytes" if tx > 0 else ""
        too_many = f", and {-tx:,} bytes have arrived unexpectedly" if tx < 0 else ""
        both = ""
        if tx and self._bytes is not None:
            announced, come = self._bytes[:, word].tolist()
            both = f" ({announced:,} expected, {come:,} arrived)"
        return (
            f"shared memory of block {block}, byte {offset:,}: the phase (parity {phase}) lacks "
            f"{pending:,} of {expected:,} arrivals{bytes_missing}{too_many}{both}"
        )

    def _error(self, does: str, mask: Array | None = None) -> KernelError:
        m = self.machine
        text = (
            f"Misused mbarrier: {m.where()}\n"
            f"  {m.who(m.mask if mask is None else mask)} {does}.\n"
            "One thread must call mbarrier_init(count), followed by mbarrier_init_fence() and a "
            "barrier (a cluster barrier if other blocks arrive); each phase then needs exactly "
            "`count` arrivals."
        )
        return m.marked(KernelError(text), "mbarrier")

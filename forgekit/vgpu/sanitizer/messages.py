"""Write the text of a finding: the thread, its operation, the place, the consequence and the
remedy."""

from __future__ import annotations

from typing import NamedTuple

from forgekit.vgpu.sanitizer.shadow import ENGINE, WRITE, Conflict

# kind -> title
KINDS = {
    "out-of-bounds": "Out of bounds",
    "misaligned": "Misaligned access",
    "read-only-write": "Write to a read-only tensor",
    "uninitialised-shared": "Uninitialised shared memory",
    "uninitialised-global": "Uninitialised tensor element",
    "unwritten-output": "Elements never written",
    "shared-race": "Race in shared memory",
    "global-race": "Race in global memory",
    "async-copy": "Asynchronous copy still in flight",
    "proxy-fence": "Missing proxy fence",
    "async-product": "Race with an asynchronous matrix product",
    "product-fence": "Missing wgmma.fence",
    "wgmma": "Misused wgmma",
    "block-lifetime": "Shared memory of a block that may not be running",
    "mbarrier": "Misused mbarrier",
    "tensor-map": "Misused tensor map",
    "divergent-barrier": "Barrier in divergent code",
    "barrier-count": "Wrong barrier count",
    "deadlock": "Deadlock",
    "shuffle-inactive": "Shuffle from an inactive lane",
    "member-mask": "Wrong member mask",
    "partial-warp": "Matrix instruction executed by part of a warp",
    "launch-limits": "Launch exceeds the limits",
    "endless": "Instruction budget exhausted",
    "trap": "Trap",
    "register-pressure": "Register pressure",
}
# kinds of findings that may be intended
NOTES = ("unwritten-output", "register-pressure")


class Message(NamedTuple):
    """The text of a finding.

    kind: a key of `KINDS`; text: the description, with fields that `Report.add` fills in; advice:
    the remedy; note: True if the code may be intended, regardless of the kind.
    """

    kind: str
    text: str
    advice: str
    note: bool = False


# -- races ----------------------------------------------------------------------------------------
_RACE = """\
{who} {does} {place},
which {other} {did} {where}.
No synchronisation orders the two accesses."""
_TWO_VALUES = """\
{who} writes {place}, and {other} writes another value there.
Either value may win."""
_TWO_WRITES = """\
{who} writes {place}, and so does {other}.
No synchronisation orders the two writes."""

_BLOCKS_WRITE = (
    "Blocks run concurrently and in any order: assign each element to one block, or add "
    "atomically (cute.arch.atomic_add)."
)
_BLOCKS_READ = (
    "Blocks run concurrently and in any order: another block may read the value only in a later "
    "launch, or after both blocks synchronise through an atomic counter, with fences or "
    "acquire-release ordering."
)
_SAME_INDEX = (
    "Check the index and the layout: two threads write to the same place. To add values, use "
    "cute.arch.atomic_add; otherwise, let only one thread write."
)
_BLOCKS_OF_A_CLUSTER = (
    "Blocks of a cluster run at their own pace: between the two lines, every thread of the cluster "
    "must call cute.arch.cluster_arrive() and cute.arch.cluster_wait(). Alternatively, use an "
    "mbarrier in the destination block: the writer arrives, and the reader waits."
)
_SAME_LINE = (
    "This line both reads and writes. To add values, use cute.arch.atomic_add; to move values, "
    "load them into a variable, call cute.arch.sync_threads(), and then store them. In a loop, a "
    "barrier between iterations may be missing."
)
_THREADS = (
    "Threads run at their own pace, even within one warp: put cute.arch.sync_threads() between the "
    "two lines (cute.arch.sync_warp() if only lanes of one warp exchange data) and, in a loop, "
    "between iterations."
)


def race(kind: str, c: Conflict, *, same_block: bool, same_line: bool) -> Message:
    """Return the message for two unordered accesses."""
    both_write = c.earlier.what == c.later.what == WRITE
    if kind == "global-race" and not same_block:
        advice = _BLOCKS_WRITE if both_write else _BLOCKS_READ
    elif c.earlier is c.later or (both_write and same_line and same_block):
        advice = _SAME_INDEX
    elif not same_block:
        advice = _BLOCKS_OF_A_CLUSTER
    else:
        advice = _SAME_LINE if same_line else _THREADS
    text = _TWO_WRITES if c.later.values is None else _TWO_VALUES
    return Message(kind, text if c.earlier is c.later else _RACE, advice)


# -- asynchronous copies and operations -----------------------------------------------------------
COPY_IN_FLIGHT = Message(
    "async-copy",
    "{who} {does} {place}, while the asynchronous copy to it\n"
    "that {other} started at {line} may still be in flight.",
    "A copy is complete for its own thread after cp_async_wait_group(n), which leaves at most the "
    "n newest committed groups in flight; other threads need a barrier after the wait.",
)
SOURCE_CHANGED = Message(
    "async-copy",
    "{who} writes {place}, while the asynchronous copy from it\n"
    "that {other} started at {line} may still be in flight.",
    "A copy may read its source until cp_async_wait_group(n) has waited for its group: overwrite "
    "the source only after that wait; other threads also need a barrier after it.",
)
_TWO_OPERATIONS = """\
The asynchronous operation started by {who} {does} {place},
while an operation that {other} started at {line} may still be in flight."""
_OPERATION_FIRST = """\
{Who} {does} {place}, while an asynchronous operation that {other_does} it,
started by {other} at {line}, may still be in flight."""
_OPERATION_SECOND = """\
The asynchronous operation started by {who} {does} {place},
which {other} {did} at {line}.
The operation does not wait for that access."""


_PRODUCT_ADVICE = (
    "A wgmma may read its operands in shared memory until cute.nvgpu.warpgroup.wait_group(n) has "
    "waited for its group; n is the number of newest groups that may stay in flight. Put a barrier "
    "or an mbarrier after the wait, before any thread overwrites the operands. A product sees "
    "stored values only after cute.arch.fence_proxy and a barrier."
)
PRODUCT_IN_FLIGHT = Message(
    "async-product",
    "{who} {does} its {place} for the product started at {line},\nwhich may still be in flight.",
    "A wgmma owns its registers until cute.nvgpu.warpgroup.wait_group(n) returns, where n is the "
    "number of newest committed groups that may stay in flight: call commit_group(), then wait "
    "with a small enough n, then use the registers.",
)
NO_PRODUCT_FENCE = Message(
    "product-fence",
    "{who} starts a product without a wgmma.fence since the previous product.",
    "A wgmma sees values that threads wrote to registers (accumulators, fragments of A) only after "
    "cute.nvgpu.warpgroup.fence(): call it before the first cute.gemm of each group.",
)


def operation(c: Conflict, *, product: bool) -> Message:
    """Return the message for an asynchronous operation and an unordered access. product: True if
    the operation is a `wgmma`."""
    text = _OPERATION_SECOND
    if c.first & ENGINE:
        text = _TWO_OPERATIONS if c.second & ENGINE else _OPERATION_FIRST
    if product:
        return Message("async-product", text.replace("operation", "product"), _PRODUCT_ADVICE)
    return Message(
        "async-copy",
        text,
        "A bulk copy or an asynchronous store is complete after mbarrier_wait() for the phase that "
        "counts its bytes; only then read its destination or change its source. For a copy to "
        "global memory, wait with cp_async_bulk_wait_group(n, read=True). Before a buffer is "
        "refilled, the threads that read it must signal that they are done, with a barrier or "
        "another mbarrier.",
    )


UNFENCED = Message(
    "proxy-fence",
    "The asynchronous copy started by {who} reads {place},\n"
    "which {other} stored at {line} without a proxy fence in between.",
    "Asynchronous copies access shared memory through a different proxy from stores: after "
    'its stores, each thread must call cute.arch.fence_proxy("async.shared", space="cta") and then '
    "reach the barrier; only then start the copy or the wgmma.",
)

# -- unwritten memory -----------------------------------------------------------------------------
_SHOWS = {
    "store": "The undefined value reaches {element}, which {user} stores{where}.",
    "atomic": "The undefined value enters the atomic update of {element} by {user}{where}.",
    "copy": "The undefined value is copied to {element} by {user}{where}.",
    "branch": "The undefined value decides a branch that {user} takes{where}.",
    "guard": "The undefined value is a predicate that {user} uses{where}.",
    "address": "The undefined value is part of an index or address that {user} uses{where}.",
    "size": "The undefined value controls an asynchronous operation that {user} starts{where}.",
    "lane": "The undefined value selects the lane from which {user} reads{where}.",
}


def uninitialised_shared(shows: str) -> Message:
    """Return the message for an undefined value. shows: the value's effect, a key of `_SHOWS`."""
    return Message(
        "uninitialised-shared",
        "{who} reads {place}, which no thread of its block has written yet.\n"
        f"{_SHOWS[shows]}\n"
        "On a GPU, this is data that an earlier block left behind.",
        "Store every element that matters before reading it: check tails (partially filled "
        "tiles), the size of the layout, and partial sums that some warps do not store.",
    )


UNINITIALISED_GLOBAL = Message(
    "uninitialised-global",
    "{who} reads {place}, which has not been written since empty() allocated it.",
    "Did you mean the input tensor? If the kernel adds to its output, clear the output first.",
)
UNWRITTEN = Message(
    "unwritten-output",
    "{count:,} elements of {tensor} were never written; the first is {first}.",
    "Does the grid cover the tensor, and does each thread store its element?",
)

COPIES_STILL = Message(
    "async-copy",
    "A cp.async that {who} started is still in flight when its block exits.",
    "Call cute.arch.cp_async_wait_group(0) before the block uses the copied data; if it never uses "
    "them, remove the copy.",
    note=True,
)

# -- clusters -------------------------------------------------------------------------------------
NOT_STARTED = Message(
    "block-lifetime",
    "{who} accesses {place}, which may not have started yet.",
    "Call cute.arch.cluster_arrive() and cute.arch.cluster_wait() before the first access to "
    "another block: they return once every block of the cluster runs.",
)
HAS_LEFT = Message(
    "block-lifetime",
    "{who} accesses {place}, but that block may have exited by then.",
    "A block must not exit while other blocks (or its own asynchronous copies) use its shared "
    "memory: wait for them with an mbarrier, or end the kernel with cute.arch.cluster_arrive() and "
    "cute.arch.cluster_wait().",
)
HAS_LEFT_ITSELF = HAS_LEFT._replace(
    text="An asynchronous operation started by {who} may still use its block's shared memory after "
    "the block has exited."
)
# An H200 keeps the memory until the copy ends: see the experiment in book/virtual_gpu.md.
STORES_STILL = HAS_LEFT._replace(
    text="A copy from shared to global memory that {who} started may still be reading after its "
    "block has exited.",
    advice="PTX does not guarantee that the shared memory stays allocated until the copy ends, "
    "although an H200 does not reuse it before then. To be safe on every GPU, let the thread "
    "call cute.arch.cp_async_bulk_wait_group(0, read=True).",
    note=True,
)

# -- warps ----------------------------------------------------------------------------------------
NOT_IN_OWN_MASK = Message(
    "member-mask",
    "{who}, lane {lane}, is not in the member {place} that it passes.",
    "A lane that executes the instruction must be in its own mask; the whole warp is 0xffffffff.",
)
MASKS_DIFFER = Message(
    "member-mask",
    "{who}, lane {lane}, passes member {place}, but lane {other_lane} in that mask passes "
    "{other_mask:#010x}.",
    "All lanes that take part in one instruction must pass the same mask.",
)
INACTIVE_SOURCE = Message(
    "shuffle-inactive",
    "{who}, lane {lane}, reads from {place} of its warp, but that lane {why}.",
    "The value is undefined. Let all 32 lanes take part, give lanes without an element the "
    "identity of the operation, and keep offsets and mask within the active lanes.",
)
PART_OF_A_MATRIX = Message(
    "partial-warp",
    "{who} executes `{place}` with {there} of the 32 lanes of its warp.",
    "ldmatrix, stmatrix, mma and wgmma spread a matrix over all 32 lanes and are undefined if a "
    "lane is missing: move them out of the `if` or loop that only some lanes enter, and launch "
    "whole warps.",
)

# -- barriers of the block ------------------------------------------------------------------------
PART_OF_A_WARP = Message(
    "divergent-barrier",
    "{who} arrives with {there} of the {lanes} lanes of its warp;\nthe other lanes do not arrive.",
    "A barrier counts whole warps: move it out of the `if` or loop that only some threads enter.",
)
SOME_HAVE_LEFT = Message(
    "divergent-barrier",
    "{who} arrives, but {threads} exited without arriving; the first is\n"
    "{other}. The barrier neither waits for them nor orders their accesses.",
    "Every thread of the block must reach the barrier: move it out of the `if` that only some "
    "threads enter, and guard the loads and stores instead.",
)
TWO_LINES = Message(
    "divergent-barrier",
    "{who} arrives while other threads of its block wait at another line: {line}.",
    "Every thread of the block must reach the same sync_threads(): move it out of the branches. "
    "Threads that wait for each other at different lines need a separate barrier, with its own "
    "number and count.",
)

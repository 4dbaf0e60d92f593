"""Wrong answers of week2/what_fits."""

from forgekit.lessons.wrong import Wrong

KB = '"kB of a row in shared memory": '
VECTORS = '"vectors in flight, each thread": '
BLOCKS = '"blocks that an SM has room for": '
STAGED, STREAMED = '"MB that staged moves": ', '"MB that streaming moves": '
CLUSTER = '"blocks of a cluster for rows of 524,288 bfloat16": '
EXPECTED = '"bytes that an mbarrier expects, 8 blocks of 8 warps": '

WRONG = (
    Wrong("elements", {KB + "96": KB + "24"}, "each has 4 bytes"),
    Wrong("both matrices", {KB + "96": KB + "192"}, "only x is in shared memory"),
    Wrong("elements for vectors", {VECTORS + "24": VECTORS + "96"}, "a vector has four"),
    Wrong("one at a time", {VECTORS + "24": VECTORS + "1"}, "all copies are started"),
    Wrong("by threads", {BLOCKS + "2": BLOCKS + "8"}, "the threads would allow 8"),
    Wrong("rounded up", {BLOCKS + "2": BLOCKS + "3"}, "three rows are 288 kB"),
    Wrong("the read alone", {STAGED + "805": STAGED + "402.7"}, "that is one read"),
    Wrong("read twice", {STAGED + "805": STAGED + "1208"}, "x is read once"),
    Wrong("read once", {STREAMED + "1208": STREAMED + "805"}, "a second time"),
    Wrong("four blocks", {CLUSTER + "8": CLUSTER + "4"}, "A block gets 227"),
    Wrong("one number", {EXPECTED + "512": EXPECTED + "256"}, "m and s: 8 bytes"),
    Wrong("a pair a block", {EXPECTED + "512": EXPECTED + "64"}, "each of the 8 warps"),
    Wrong("the whole cluster", {EXPECTED + "512": EXPECTED + "4096"}, "what comes to this block: 64 pairs"),
)  # fmt: skip

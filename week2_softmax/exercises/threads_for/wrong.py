"""Wrong solutions of week2/threads_for."""

from forgekit.lessons.wrong import Wrong

VECTORS = "vectors = -(-columns // (vec * threads))"
WITHIN = "if vectors * vec <= 36:"

WRONG = (
    Wrong("fewer than 32", {WITHIN: "if vectors * vec < 36:"}, "which is allowed"),
    Wrong("rounded down", {VECTORS: "vectors = columns // (vec * threads)"}, "289 vectors for 32 lanes"),
    Wrong("elements, not vectors", {VECTORS: "vectors = -(-columns // threads) / vec"},
          "129 vectors of float16"),
    Wrong("vectors of four in all types", {"vec = 16 // dtype.itemsize": "vec = 4"}, "129 vectors of float16 for 32 lanes"),
    Wrong("bytes for elements", {WITHIN: "if vectors * 16 <= 36:"}, "threads_for(1,152, torch.float32) gives 256"),
    Wrong("from 8 threads on", {"(32, 64,": "(8, 16, 32, 64,"}, "a warp is the fewest"),
    Wrong("never 0", {"    return 0": "    return 1024"}, "more threads a block does not have"),
    Wrong("the vectors", {"            return threads": "            return vectors"},
          "threads_for(1,152, torch.float32) gives 9"),
)  # fmt: skip

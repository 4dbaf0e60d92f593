"""Wrong solutions to week2/threads_for."""

from forgekit.lessons.wrong import Wrong

VECTORS = "vectors = -(-columns // (vec * threads))"
WITHIN = "if vectors * vec <= 36:"

WRONG = (
    Wrong("fewer than 32", {WITHIN: "if vectors * vec < 36:"}, "which is allowed"),
    Wrong("rounded down", {VECTORS: "vectors = columns // (vec * threads)"}, "289 vectors for 32 lanes"),
    Wrong("elements, not vectors", {VECTORS: "vectors = -(-columns // threads) / vec"},
          "129 vectors of float16"),
    Wrong("from 8 threads on", {"(32, 64,": "(8, 16, 32, 64,"}, "are the fewest allowed"),
    Wrong("a float", {"return threads": "return 2.0 ** (threads.bit_length() - 1)"}, "a launch needs an integer"),
    Wrong("a tensor", {"return threads": "import torch; return torch.tensor(threads)"},
          "tensor(32); a launch needs an integer"),
    Wrong("two types only", {"16 // dtype.itemsize": "4 if 'float32' in str(dtype) else 8"},
          "have 18 vectors of float64 each"),
    Wrong("a table of types", {"16 // dtype.itemsize": "{'float32': 4, 'float64': 2, 'int8': 16}.get(str(dtype)[6:], 8)"},
          "; the rule requires"),
    Wrong("never 0", {"    return 0": "    return 1024"}, "a block has at most 1,024 threads"),
)  # fmt: skip

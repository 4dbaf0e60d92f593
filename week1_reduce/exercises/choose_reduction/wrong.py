"""Wrong solutions to week1/choose_reduction."""

from forgekit.lessons.wrong import Wrong

PARTS = "min(264 // m, vectors // 1024) // 4 * 4"

WRONG = (
    Wrong("elements for vectors", {"vectors = n * dtype.itemsize // 16": "vectors = n"},
          "choose_reduction(100,000, 512, torch.float32) gives (32, 1)"),
    Wrong("4 elements in any type", {"n * dtype.itemsize // 16": "n // 4"},
          "16 bytes are 8 elements of float16"),
    Wrong("no warp", {"(8, 32)": "(8,)"}, "16 for each lane of a warp"),
    Wrong("a warp at most", {", 256)\n    blocks": ", 32)\n    blocks"},
          "more than 16 per lane of a warp"),
    Wrong("blocks rounded down", {"-(-m // (256 // threads))": "m // (256 // threads)"},
          "not full, but it counts"),
    Wrong("rows for blocks", {"-(-m // (256 // threads))": "m"}, "gives 128 blocks"),
    Wrong("more threads for short rows", {" and vectors >= 256": ""}, "do not add threads"),
    Wrong("no fours", {PARTS: "min(264 // m, vectors // 1024)"}, "the number of parts is a multiple of 4"),
    Wrong("parts of 1,000 vectors", {"vectors // 1024": "vectors // 1000"}, "1,024 of its 4,095 vectors"),
    Wrong("a third number", {"return threads, max(parts, 1)": "return threads, max(parts, 1), blocks"},
          "(8, 1, 3125); needed (8, 1). [ ]"),
    Wrong("blocks alone", {PARTS: "264 // m // 4 * 4"}, "and this row has 4,096."),
    Wrong("four parts at least", {"max(parts, 1)": "max(parts, 4)"}, "needed (8, 1). [ ]"),
    Wrong("parts first", {"return threads, max(parts, 1)": "return max(parts, 1), threads"},
          "threads come first, then parts"),
    Wrong("vectors alone", {PARTS: "vectors // 1024 // 4 * 4"},
          "264 rows with one block each"),
    Wrong("no parts at all", {PARTS: "1"}, "4 parts per row"),
    Wrong("0 parts", {"max(parts, 1)": "parts"}, "gives (8, 0)"),
    Wrong("one block fewer", {"blocks < 264 and": "blocks < 263 and"}, "263 blocks are too few"),
    Wrong("one vector fewer", {
        "and vectors >= 256": "and vectors >= 255"}, "but 255 vectors are fewer"),
    Wrong("vectors rounded up", {PARTS: "min(264 // m, -(-vectors // 1024)) // 4 * 4"},
          "only three parts of at least 1,024"),
    Wrong("blocks rounded up for parts", {"min(264 // m,": "min(-(-264 // m),"}, "264 blocks for 70 rows allow"),
    Wrong("rounded for parts", {"min(264 // m,": "min(round(264 / m),"}, "only 3 parts per row"),
    Wrong("a power of two", {"return threads, max(parts, 1)": "return threads, 1 << max(parts, 1).bit_length() - 1"},
          "12 parts per row"),
    Wrong("at most 64 parts", {"min(264 // m,": "min(64, 264 // m,"}, "one row allow 264 parts"),
    Wrong("float parts", {PARTS: "min(264 / m, vectors / 1024) // 4 * 4"}, "return whole numbers"),
    Wrong("two types", {"n * dtype.itemsize // 16": "n // (4 if 'float32' in str(dtype) else 8)"},
          "2 elements of float64"),
    Wrong("a list", {"return threads, max(parts, 1)": "return [threads, max(parts, 1)]"},
          "gives [8, 1]; needed (8, 1). [ ]"),
)  # fmt: skip

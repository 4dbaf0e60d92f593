"""Wrong solutions to week2/choose_softmax."""

from forgekit.lessons.wrong import Wrong

NUMBER, FIRST = "number >= 90", " and number >= 80"
STRIP = 'int(arch.strip("sm_af"))'

WRONG = (
    Wrong("registers by the row's own type", {"4 * n <= held": "row <= held"},
          "bytes as float32 and"),
    Wrong("less than 64 kB", {"4 * n <= held": "4 * n < held"}, "The row takes 65,536 bytes as float32"),
    Wrong("64,000 bytes", {"64 * 1024, 96": "64_000, 96"}, "The row takes 64,800 bytes as float32"),
    Wrong("shared memory in float32", {"n * dtype.itemsize": "4 * n"},
          "and 98,304 in its own type, whole vectors"),
    Wrong("less than 96 kB", {"if row <= asked": "if row < asked"}, "98,304 in its own type, whole vectors"),
    Wrong("96 kB without the remainder", {"if row <= asked": "if row // 1024 <= 96"}, "98,320 in its own type"),
    Wrong("any row is copied", {"row % 16 == 0": "row > 0"}, "not whole vectors"),
    Wrong("four elements in any type", {"row % 16 == 0": "n % 4 == 0"}, "in its own type, not whole vectors"),
    Wrong("eight elements in any type", {"row % 16 == 0": "n % 8 == 0"}, "in its own type, whole vectors"),
    Wrong("a list", {'return "registers", 1': 'return ["registers", 1]'}, "returns ['registers', 1]; needed ('registers', 1). The row"),
    Wrong("half of two blocks", {'return "cluster", blocks': 'return "cluster", blocks / 1'}, "so return an int"),
    Wrong("clusters everywhere", {NUMBER: "arch"}, "sm_80 has cp.async but no clusters"),
    Wrong("architectures as strings", {NUMBER: 'arch >= "sm_90"'}, "sm_100a has cp.async and clusters"),
    Wrong("no clusters on Ampere and Ada alone", {NUMBER: 'not arch.startswith("sm_8")', FIRST: ""}, "sm_75 has no cp.async, no clusters"),
    Wrong("the last letter cut off", {NUMBER: "int(arch[3:-1]) >= 90"}, "sm_90 has cp.async and clusters"),
    Wrong("a list of architectures", {NUMBER: 'arch in ("sm_90", "sm_90a", "sm_100a")'}, "sm_120 has cp.async and clusters"),
    Wrong("always eight blocks", {"(2, 4, 8)": "(8,)"}, "needed ('cluster', 2)"),
    Wrong("no eight", {"(2, 4, 8)": "(2, 4)"}, "needed ('cluster', 8)"),
    Wrong("three blocks", {"(2, 4, 8)": "(2, 3, 4, 8)"}, "returns ('cluster', 3)"),
    Wrong("cp.async everywhere", {FIRST: ""}, "sm_75 has no cp.async"),
    Wrong("only the letter a", {STRIP: 'int(arch[3:].rstrip("a"))'}, "invalid literal for int"),
    Wrong("4 bytes or 2", {"n * dtype.itemsize": "n * (4 if '32' in str(dtype) else 2)"},
          "196,608 in its own type"),
    Wrong("bits of finfo", {"n * dtype.itemsize": "n * __import__('torch').finfo(dtype).bits // 8"},
          "torch.complex64, 'sm_90a') returns ('staged', 1)"),
    Wrong("bytes by the type's name", {"n * dtype.itemsize": "n * int(''.join(filter(str.isdigit, str(dtype).split('_')[0]))) // 8"},
          "choose_softmax(98,304, torch.bool, 'sm_90a') raised ValueError"),
    Wrong("float64 in registers by its own size", {"4 * n <= held": "max(4, dtype.itemsize) * n <= held"},
          "torch.float64, 'sm_90a') returns ('staged', 1)"),
    Wrong("three architectures with clusters", {NUMBER: "number in (90, 100, 120)"}, "returns ('streaming', 1); needed ('cluster'"),
)  # fmt: skip

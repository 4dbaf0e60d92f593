"""Wrong solutions to week2/choose_softmax."""

from forgekit.lessons.wrong import Wrong

NUMBER, FIRST = "number >= 90", " and number >= 80"
STRIP = 'int(arch.strip("sm_af"))'

WRONG = (
    Wrong("registers by the row's own type", {"4 * n <= held": "row <= held"},
          "in registers an element takes 4 bytes, whatever its type"),
    Wrong("less than 64 kB", {"4 * n <= held": "4 * n < held"}, "exactly 64 kB"),
    Wrong("64,000 bytes", {"64 * 1024, 96": "64_000, 96"}, "64 kB are 65,536 bytes"),
    Wrong("shared memory in float32", {"n * dtype.itemsize": "4 * n"},
          "in shared memory, elements keep their own type"),
    Wrong("less than 96 kB", {"if row <= asked": "if row < asked"}, "exactly 96 kB"),
    Wrong("96 kB without the remainder", {"if row <= asked": "if row // 1024 <= 96"}, "16 bytes more than 96 kB"),
    Wrong("any row is copied", {"row % 16 == 0": "row > 0"}, "cannot be copied asynchronously"),
    Wrong("four elements in any type", {"row % 16 == 0": "n % 4 == 0"}, "16 bytes are 8 elements of float16"),
    Wrong("eight elements in any type", {"row % 16 == 0": "n % 8 == 0"}, "16 bytes are 4 elements of float32"),
    Wrong("a list", {'return "registers", 1': 'return ["registers", 1]'}, "returns ['registers', 1]; needed ('registers', 1). Stuck"),
    Wrong("half of two blocks", {'return "cluster", blocks': 'return "cluster", blocks / 1'}, "so return an int"),
    Wrong("clusters everywhere", {NUMBER: "arch"}, "no clusters before sm_90"),
    Wrong("architectures as strings", {NUMBER: 'arch >= "sm_90"'}, "'1' sorts before '9'"),
    Wrong("no clusters on Ampere and Ada alone", {NUMBER: 'not arch.startswith("sm_8")', FIRST: ""}, "75 is less than 90"),
    Wrong("the last letter cut off", {NUMBER: "int(arch[3:-1]) >= 90"}, "with or without a letter"),
    Wrong("a list of architectures", {NUMBER: 'arch in ("sm_90", "sm_90a", "sm_100a")'}, "120 is more than 90"),
    Wrong("always eight blocks", {"(2, 4, 8)": "(8,)"}, "two parts of 64 kB"),
    Wrong("no eight", {"(2, 4, 8)": "(2, 4)"}, "four parts would be 128 kB each"),
    Wrong("three blocks", {"(2, 4, 8)": "(2, 3, 4, 8)"}, "returns ('cluster', 3)"),
    Wrong("cp.async everywhere", {FIRST: ""}, "no asynchronous copies before sm_80"),
    Wrong("only the letter a", {STRIP: 'int(arch[3:].rstrip("a"))'}, "invalid literal for int"),
    Wrong("4 bytes or 2", {"n * dtype.itemsize": "n * (4 if '32' in str(dtype) else 2)"},
          "at 8 bytes each, this row takes 192 kB"),
)  # fmt: skip

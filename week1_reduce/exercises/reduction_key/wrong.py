"""Wrong solutions to week1/reduction_key."""

from forgekit.lessons.wrong import Wrong

STEPS = "steps = (x.shape[1], x.stride(0) if x.shape[0] > 1 else 0)"
KEY = "return x.dtype, whole, choose(*x.shape, x.dtype)"
CHOSEN = "choose(*x.shape, x.dtype)"

WRONG = (
    Wrong("no dtype", {KEY: f"return whole, {CHOSEN}"}, "only the element type differs"),
    Wrong("size of an element", {"return x.dtype": "return x.element_size()"},
          "both types have two bytes"),
    Wrong("no vectors", {KEY: f"return x.dtype, {CHOSEN}"}, "66 elements are not whole"),
    Wrong("4 elements in any type", {"vector = 16 // x.element_size()": "vector = 4"},
          "68 is not a multiple of 8"),
    Wrong("4 elements in any pitch", {
        "all(step % vector == 0 for step in steps)": "steps[0] % vector == steps[1] % 4 == 0"},
        "16 bytes are 8 elements of float16: the second row"),
    Wrong("pitch forgotten", {STEPS: "steps = (x.shape[1],)"},
          "rows are 65 elements apart"),
    Wrong("address forgotten", {"x.data_ptr() % 16 == 0 and ": ""},
          "the second tensor begins 8 bytes after"),
    Wrong("offset in the storage", {"x.data_ptr() % 16 == 0": "x.storage_offset() % vector == 0"},
          "the offset in the storage is 0 in both"),
    Wrong("the pitch of three rows", {"x.shape[0] > 1 else 0": "x.shape[0] > 2 else 0"}, "two rows are enough"),
    Wrong("address of a single row forgotten", {"x.data_ptr() % 16 == 0 and": "(x.data_ptr() % 16 == 0 or x.shape[0] == 1) and"},
          "its address still has to be"),
    Wrong("vectors in the whole matrix", {"steps = (x.shape[1],": "steps = (x.numel(),"},
          "every row begins at a multiple of 16 bytes"),
    Wrong("half of the alignment", {"x.data_ptr() % 16 == 0": "x.data_ptr() % 8 == 0"},
          "and one 8 bytes later"),
    Wrong("addresses of two rows", {"x.data_ptr() % 16 == 0 and all(step % vector == 0 for step in steps)":
          "all(row.data_ptr() % 16 == 0 for row in x[:2])"}, "but 66 float32 elements are not whole vectors"),
    Wrong("no choice", {KEY: "return x.dtype, whole"}, "number of threads per row differs"),
    Wrong("rows and columns exchanged", {"choose(*x.shape, x.dtype)": "choose(x.shape[1], x.shape[0], x.dtype)"},
          "the number of threads per row differs, and"),
    Wrong("the pitch chooses", {"choose(*x.shape, x.dtype)": "choose(x.shape[0], x.stride(0), x.dtype)"},
          "`choose` received (9, 72, torch.float16)"),
    Wrong("N in float32 elements", {"choose(*x.shape, x.dtype)": "choose(x.shape[0], x.shape[1] * x.element_size() // 4, x.dtype)"},
          "`choose` received (9, 32, torch.float16)"),
    Wrong("parts forgotten", {KEY: f"return x.dtype, whole, {CHOSEN}[0]"},
          "the number of parts differs"),
    Wrong("shape", {KEY: f"return x.dtype, whole, {CHOSEN}, x.shape"}, "M is passed"),
    Wrong("never whole if single", {"x.shape[0] > 1 else 0": "x.shape[0] > 1 else 1"}, "the single row also consists"),
    Wrong("N", {KEY: f"return x.dtype, whole, {CHOSEN}, x.shape[1]"}, "N is passed"),
    Wrong("N in vectors", {KEY: f"return x.dtype, whole, {CHOSEN}, x.shape[1] % vector"},
          "neither has whole vectors"),
    Wrong("alignment beside", {KEY: f"return x.dtype, whole, {CHOSEN}, x.data_ptr() % 16"},
          "wherever they begin"),
    Wrong("identity", {KEY: f"return x.dtype, whole, {CHOSEN}, id(x)"}, "values and addresses"),
    Wrong("a list", {KEY: f"return [x.dtype, whole, {CHOSEN}]"}, "cannot be a dict key"),
    Wrong("the pitch of a single row", {STEPS: "steps = (x.shape[1], x.stride(0))"}, "no second row"),
    Wrong(
        "the sum of the constants",
        {"choose(*x.shape, x.dtype)": "sum(choose(*x.shape, x.dtype))"},
        "(torch.float32, True, 68)",
    ),
    Wrong(
        "the constants in order",
        {"choose(*x.shape, x.dtype)": "tuple(sorted(choose(*x.shape, x.dtype)))"},
        "(torch.float32, True, (4, 64))",
    ),
    Wrong(
        "the parts only as yes or no",
        {"choose(*x.shape, x.dtype)": "(lambda c: (c[0], c[1] > 1))(choose(*x.shape, x.dtype))"},
        "(torch.float32, True, (64, True))",
    ),
    Wrong(
        "4 or 8 elements per vector",
        {"16 // x.element_size()": "4 if x.element_size() == 4 else 8"},
        "16 elements of int8",
    ),
    Wrong(
        "at most 8 elements per vector",
        {"16 // x.element_size()": "{1: 16, 4: 4}.get(x.element_size(), 8)"},
        "2 elements of float64",
    ),
    Wrong(
        "a rule of its own",
        {"choose(*x.shape, x.dtype)": "(8, 1) if x.shape[1] * x.element_size() <= 2048 else (256, 4 if x.shape[0] <= 4 else 1)"},
        "(torch.float32, True, (256, 1))",
    ),
    Wrong("constants without separators", {"choose(*x.shape, x.dtype)": "''.join(str(c) for c in choose(*x.shape, x.dtype))"},
          "which have the same key"),
)  # fmt: skip

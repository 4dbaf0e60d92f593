"""Wrong solutions to week0/cache_key."""

from forgekit.lessons.wrong import Wrong

_KEY = "return x.dtype, x.device.type, order, align"
_ORDER = "tuple(step == 1 for step in x.stride())"
_ALIGN = "math.gcd(x.data_ptr(), 16)"

WRONG = (
    Wrong("no dtype", {_KEY: "return x.device.type, order, align"},
          "lacks the element type"),
    Wrong("size of an element", {"return x.dtype": "return x.element_size()"},
          "both types have two bytes"),
    Wrong("last stride only", {_ORDER: "x.stride()[-1] == 1"}, "lacks the number of dimensions"),
    Wrong("dimensions for order", {_ORDER: "x.dim()"}, "lacks the memory order"),
    Wrong("fastest mode", {_ORDER: "(x.dim(), min(x.stride()) == x.stride()[-1])"},
          "neighbouring elements are two positions apart"),
    Wrong("the first two modes", {_ORDER: "(x.stride(0) == 1, x.stride(1) == 1)"},
          "here one tensor has two, and the other has three"),
    Wrong("the modes at both ends", {_ORDER: "(x.dim(), x.stride(0) == 1, x.stride(-1) == 1)"},
          "not only the first or the last"),
    Wrong("the first mode with stride 1", {_ORDER: "(x.dim(), (*x.stride(), 1).index(1))"},
          "Strides (1, 1) and strides (1, 4)"),
    Wrong("the last mode with stride 1", {_ORDER: "(x.dim(), max((k for k, s in enumerate(x.stride()) if s == 1), default=None))"},
          "Strides (1, 1) and strides (8, 1)"),
    Wrong("contiguous or not", {_ORDER: "(x.dim(), x.is_contiguous())"}, "Which mode has stride 1?"),
    Wrong("no alignment", {", align": "", "align = ": "_ = "},
          "alignment of the first element"),
    Wrong("16 or not", {_ALIGN: "x.data_ptr() % 16 == 0"}, "alignment has steps"),
    Wrong("16, 8 or not", {_ALIGN: "(x.data_ptr() % 16 == 0, x.data_ptr() % 8 == 0)"},
          "down to the size of the element"),
    Wrong("8 or not", {_ALIGN: "(x.data_ptr() % 8 == 0, x.data_ptr() % 4 == 0)"},
          "16 bytes is the highest"),
    Wrong("remainder", {_ALIGN: "x.data_ptr() % 16"}, "The remainder itself"),
    Wrong("no device", {"x.device.type, ": ""}, "does not tell these two devices apart"),
    Wrong("address 0 for a device", {
        _KEY: "return x.dtype, order, min(x.data_ptr() & -x.data_ptr(), 16)"}, "on device cpu and one on cuda:0"),
    Wrong("in a GPU's memory or not", {"x.device.type": "x.is_cuda"}, "on device cpu and one on meta"),
    Wrong("the device's initial", {"x.device.type": "x.device.type[0]"}, "(torch.float32, 'c', "),
    Wrong("identity", {_KEY: "return x.dtype, x.device.type, order, align, id(x)"},
          "values, addresses and identity change"),
    Wrong("chance", {_KEY: "import random; return random.random()"}, "must be the same each time"),
    Wrong("shape", {_KEY: "return x.dtype, x.device.type, order, align, x.shape"},
          "the sizes are in the key"),
    Wrong("all strides", {_ORDER: "(x.stride(), x.stride()[-1] == 1)"},
          "a stride other than 1 follows"),
    Wrong("row pitch", {_ORDER: "(*(s == 1 for s in x.stride()), x.stride()[0] == "
                        "(x.shape[1] if x.dim() == 2 else 32))"}, "only *which* stride is 1"),
    Wrong("too much alignment", {", 16)": ", 64)"}, "more alignment changes nothing"),
    Wrong("no return", {_KEY: "key = x.dtype, x.device.type, order, align"},
          "ends without `return`"),
    Wrong("a list", {_KEY: "return [x.dtype, x.device.type, order]"}, "cannot be a dict key"),
    Wrong("forgekit's", {_KEY: "import forgekit; return x.device.type, align, "
                         "forgekit.spec(x).key()"}, "This key comes from forgekit"),
    Wrong("offset in the storage", {"x.data_ptr(), 16": "x.storage_offset() * x.element_size(), 16"},
          "the storage itself may begin anywhere"),
)  # fmt: skip

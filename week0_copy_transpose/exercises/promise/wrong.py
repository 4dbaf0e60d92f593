"""Wrong solutions to week0/promise."""

from forgekit.lessons.wrong import Wrong

_SPEC = "fk.spec(x, divisible={1: 16 // x.element_size()}, align=16)"
_PROMISE = "divisible={1: 16 // x.element_size()}, align=16"

WRONG = (
    Wrong("nothing", {_SPEC: "fk.spec(x)  "}, "promises nothing about the rows"),
    Wrong("two elements", {"16 // x.element_size()": "2"}, "promises a multiple of 2 elements"),
    Wrong("four elements", {"16 // x.element_size()": "4"}, "but eight of float16"),
    Wrong("bytes for elements", {"16 // x.element_size()": "16"}, "than a load of 128 bits needs"),
    Wrong("rows", {_PROMISE: "divisible={0: 2, 1: 16 // x.element_size()}"}, "the number of rows"),
    Wrong("rows instead", {_PROMISE: "divisible={0: 2}"}, "Along which mode does a vector lie"),
    Wrong("a float", {"16 // x": "16 / x"}, "got 4.0 for mode 1, needed a whole number; use `//`"),
    Wrong("all static", {_PROMISE: "static=True"}, "`static=True` fixes every size"),
    Wrong("N static", {_PROMISE: "static=[1]"}, "requires one kernel per N"),
    Wrong(
        "M static",
        {_PROMISE: "static=[0], divisible={1: 16 // x.element_size()}"},
        "M is compiled in, but",
    ),
    Wrong("too little alignment", {"align=16": "align=8"}, "an alignment of only 8 bytes"),
    Wrong("too much alignment", {"align=16": "align=32"}, "16 bytes is the widest load"),
    Wrong("no spec", {_SPEC: "x"}, "return the result of fk.spec(x, …)"),
    Wrong(
        "read-only",
        {
            "align=16": "align=16, read_only=True",
        },
        "read_only promises that the kernel does not write",
    ),
    Wrong(
        "64 bytes in elements",
        {
            "align=16": "align=64 // x.element_size()",
        },
        "must also take (3, 64) float16",
    ),
)

"""Other correct solutions to week0/one_kernel_per_n."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the lowest bit of the address", {
        "math.gcd(t.data_ptr(), 16)": "min(16, t.data_ptr() & -t.data_ptr())",
    }),
    Wrong("y by name", {"kernels[key](x, y)": "kernels[key](x, mY=y)"}),
    Wrong("the keys of the specs", {
        "(t.dtype, t.shape[1], t.stride(), math.gcd(t.data_ptr(), 16))":
            "fk.spec(t, static=[1]).key()",
    }),
    Wrong("named rows", {
        "fk.spec(x, static=[1]), fk.spec(y, static=[1])": "fk.spec(x, static=[1], names=(\"m\", None)), fk.spec(y, static=[1], names=(\"m\", None))",
    }),
)  # fmt: skip

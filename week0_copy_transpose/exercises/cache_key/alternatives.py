"""Other right solutions of week0/cache_key."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the whole device, and a list of modes", {
        "tuple(step == 1 for step in x.stride())":
            "x.dim(), *(k for k, step in enumerate(x.stride()) if step == 1)",
        "x.device.type": "x.device",
    }),
    Wrong("alignment by cases, in a dict's items", {
        "align = math.gcd(x.data_ptr(), 16)\n":
            "align = next(k for k in (16, 8, 4, 2, 1) if x.data_ptr() % k == 0)\n",
        "return x.dtype, x.device.type, order, align":
            "# the facts of fk.spec(x)\n"
            "    facts = {'type': x.dtype, 'on': str(x.device), 'order': order, 'align': align}\n"
            "    return tuple(facts.items())",
    }),
)  # fmt: skip

"""Other right solutions of week2/softmax_operator."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the operator from torch.ops", {
        "    return softmax\n": "    return torch.ops.mine.tempered_softmax\n",
    }),
    Wrong("the overload from torch.ops", {
        "    return softmax\n": "    return torch.ops.mine.tempered_softmax.default\n",
    }),
    Wrong("results made by shape and type", {
        "        y = torch.empty_like(x, memory_format=torch.contiguous_format)\n":
            "        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n",
        "        return torch.empty_like(x, memory_format=torch.contiguous_format)\n":
            "        return x.new_empty(x.shape)\n",
    }),
)  # fmt: skip

"""Other right solutions of week2/softmax_operator."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("the operator from torch.ops", {
        "    return softmax\n": "    return torch.ops.mine.tempered_softmax\n",
    }),
    Wrong("the overload from torch.ops", {
        "    return softmax\n": "    return torch.ops.mine.tempered_softmax.default\n",
    }),
    Wrong("the gradient's operator fills dx", {
        'backward", mutates_args=())': 'backward", mutates_args=("dx",))',
        "t: float) -> torch.Tensor:\n        dx = torch.empty_like(y)\n        backward":
            "t: float, dx: torch.Tensor) -> None:\n        backward",
        "        return dx\n": "",
        "    def _(dy, y, t):\n        return torch.empty_like(y)\n": "    def _(dy, y, t, dx):\n        return None\n",
        "        return softmax_backward(dy, y, ctx.t), None\n":
            "        dx = torch.empty_like(y)\n        softmax_backward(dy, y, ctx.t, dx)\n        return dx, None\n",
    }),
    Wrong("results made by shape and type", {
        "        y = torch.empty_like(x, memory_format=torch.contiguous_format)\n":
            "        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n",
        "        return torch.empty_like(x, memory_format=torch.contiguous_format)\n":
            "        return x.new_empty(x.shape)\n",
    }),
)  # fmt: skip

"""Solution to week2/softmax_operator."""

import torch


def softmax_operator(forward, backward):
    # [fill]
    #| return None
    @torch.library.custom_op("mine::tempered_softmax", mutates_args=())
    def softmax(x: torch.Tensor, t: float) -> torch.Tensor:
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        forward(x.contiguous(), t, y)
        return y

    @softmax.register_fake
    def _(x, t):
        return torch.empty_like(x, memory_format=torch.contiguous_format)

    @torch.library.custom_op("mine::tempered_softmax_backward", mutates_args=())
    def softmax_backward(dy: torch.Tensor, y: torch.Tensor, t: float) -> torch.Tensor:
        dx = torch.empty_like(y)
        backward(dy.contiguous(), y, t, dx)
        return dx

    @softmax_backward.register_fake
    def _(dy, y, t):
        return torch.empty_like(y)

    def keep(ctx, inputs, output):
        ctx.t = inputs[1]
        ctx.save_for_backward(output)

    def gradient(ctx, dy):
        (y,) = ctx.saved_tensors
        return softmax_backward(dy, y, ctx.t), None

    softmax.register_autograd(gradient, setup_context=keep)
    return softmax
    # [/fill]

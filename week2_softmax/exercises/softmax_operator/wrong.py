"""Wrong solutions to week2/softmax_operator."""

from forgekit.lessons.wrong import Wrong

FAKE = """    @softmax.register_fake
    def _(x, t):
        return torch.empty_like(x, memory_format=torch.contiguous_format)

"""
FAKE_BACKWARD = """    @softmax_backward.register_fake
    def _(dy, y, t):
        return torch.empty_like(y)

"""
RETURN = "        return softmax_backward(dy, y, ctx.t), None\n"
LAUNCHED = """        dx = torch.empty_like(y)
        backward(dy.contiguous(), y, ctx.t, dx)
        return dx, None
"""
OP = """        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        forward(x.contiguous(), t, y)
"""

WRONG = (
    Wrong("x is kept", {"ctx.save_for_backward(output)": "ctx.save_for_backward(inputs[0])"},
          "something else, such as x"),
    Wrong("dy as it comes", {"dy.contiguous()": "dy"}, "strides (0, 0)"),
    Wrong("x as it comes", {"x.contiguous()": "x"}, "`forward` receives x of shape (2, 7)"),
    Wrong("x of three dimensions as it comes", {"x.contiguous()": "x.contiguous() if x.dim() == 2 else x"}, "`forward` receives x of shape (2, 3, 4)"),
    Wrong("dy of three dimensions as it comes", {"dy.contiguous()": "dy.contiguous() if dy.dim() == 2 else dy"}, "strides (0, 0, 0)"),
    Wrong("a fake like x", {FAKE: FAKE.replace("return", "return torch.empty_like(x) if x.dim() > 2 else")}, "the fake's result does not match"),
    Wrong("the gradient in float32", {"        return dx\n": "        return dx.float().to(dx.dtype)\n"}, "expected 0.7227368436"),
    Wrong("no fake", {FAKE: ""}, "test_faketensor raises"),
    Wrong("no fake of the gradient", {FAKE_BACKWARD: ""}, "needs its own fake"),
    Wrong("a fake of another type", {FAKE: """    @softmax.register_fake
    def _(x, t):
        return torch.empty(x.shape)

"""}, "Dtypes torch.float64 and torch.float32"),
    Wrong("the gradient's fake in float32", {FAKE_BACKWARD: FAKE_BACKWARD.replace("empty_like(y)", "empty(y.shape)")},
          "the fake of mine::tempered_softmax_backward has shape (2, 4), float32"),
    Wrong("the gradient's fake like dy", {FAKE_BACKWARD: FAKE_BACKWARD.replace("empty_like(y)", "empty_like(dy)")},
          "the fake of mine::tempered_softmax_backward has shape (3, 5), float32, strides (1, 3)"),
    Wrong("launched in the gradient", {RETURN: LAUNCHED}, "while torch.compile traces"),
    Wrong("one gradient for two inputs", {RETURN: "        return softmax_backward(dy, y, ctx.t)\n"}, "must return one value for each input"),
    Wrong("no gradient", {"    softmax.register_autograd(gradient, setup_context=keep)\n": ""},
          "no gradient is registered with the operator"),
    Wrong("over x", {OP: "        y = x\n        forward(x, t, y)\n"}, "an operator must return a new tensor"),
    Wrong("t left out of the gradient", {RETURN: "        return softmax_backward(dy, y, 1.0), None\n"},
          "dx is t times the expected gradient"),
    Wrong("the type is lost", {OP: OP.replace("empty_like(x, memory_format=torch.contiguous_format)", "empty(x.shape)")},
          "do not match each other"),
    Wrong("a constant t", {"forward(x.contiguous(), t, y)": "forward(x.contiguous(), 1.0, y)"}, "and begins with"),
    Wrong("another name", {'"mine::tempered_softmax"': '"mine::softmax_t"'}, "run no operator mine::tempered_softmax, but mine::softmax_t"),
    Wrong("another name of the gradient", {"mine::tempered_softmax_backward": "mine::tempered_backward"},
          "run no operator mine::tempered_softmax_backward, but"),
    Wrong("x and y kept", {"ctx.save_for_backward(output)": "ctx.save_for_backward(output, inputs[0])",
                           "(y,) = ctx": "y, _ = ctx"}, "y alone is enough"),
    Wrong("x in ctx", {"ctx.t = inputs[1]": "ctx.x, ctx.t = inputs"}, "keeps x after the call"),
    Wrong("a function, no operator", {"    return softmax\n": "    return lambda x, t: softmax(x, t)\n"},
          "Expected an operator, got"),
    Wrong("t of the first call", {"forward(x.contiguous(), t, y)": "forward(x.contiguous(), 0.5, y)"},
          "and t = 2.0 the result is not"),
    Wrong("t of the first call in the gradient", {"ctx.t = inputs[1]": "ctx.t = 0.5"}, "softmax(x / t) with t = 2.0"),
    Wrong("t twice in the gradient", {RETURN: "        return softmax_backward(dy, y, ctx.t) * ctx.t, None\n"},
          "which is enough"),
    Wrong("dx over dy", {"        dx = torch.empty_like(y)\n        backward(dy.contiguous(), y, t, dx)\n        return dx\n":
                         "        dy = dy.contiguous()\n        backward(dy, y, t, dy)\n        return dy\n"},
          "the result is an input itself or shares"),
    Wrong("dy and y exchanged", {"backward(dy.contiguous(), y, t, dx)": "backward(y, dy.contiguous(), t, dx)"},
          "such as x or dy"),
    Wrong("t with one decimal", {"forward(x.contiguous(), t, y)": "forward(x.contiguous(), round(t, 1), y)"},
          "and t = 0.75 the result is not"),
    Wrong("t of the last call", {"ctx.t = inputs[1]": "softmax.t = inputs[1]", "ctx.t)": "softmax.t)"},
          "the gradient of the first call uses the second call's t"),
    Wrong("y of the last call", {"ctx.save_for_backward(output)": "softmax.y = output", "(y,) = ctx.saved_tensors": "y = softmax.y"},
          "the gradient of the first call uses the second call's y"),
    Wrong("one dx for all calls", {"    @torch.library.custom_op(\"mine::tempered_softmax_backward\"": "    kept = {}\n\n    @torch.library.custom_op(\"mine::tempered_softmax_backward\"",
          "dx = torch.empty_like(y)\n        backward(": "dx = kept.setdefault((y.shape, y.dtype), torch.empty_like(y))\n        backward("},
          "a later call has changed the gradient of an earlier one"),
    Wrong("one y for all calls", {"def softmax_operator(forward, backward):\n": "def softmax_operator(forward, backward):\n    kept = {}\n\n",
          OP: OP.replace("torch.empty_like(x, memory_format=torch.contiguous_format)", "kept.setdefault((x.shape, x.dtype), torch.empty_like(x, memory_format=torch.contiguous_format))")},
          "a later call has changed the result of an earlier one"),
    Wrong("defined by hand", {"    @torch.library.custom_op(\"mine::tempered_softmax\"": "    torch.library.define(\"mine::by_hand\", \"(Tensor x) -> Tensor\")\n\n    @torch.library.custom_op(\"mine::tempered_softmax\""},
          "the grade calls the function several times"),
    Wrong("no fake at all", {FAKE: "", FAKE_BACKWARD: ""}, "the operator has no fake"),
)  # fmt: skip

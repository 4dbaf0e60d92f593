"""Wrong solutions to week2/numeric_gradient."""

from forgekit.lessons.wrong import Wrong

BOTH = "f(x + step) - f(x - step)"
RESULT = "(difference * dy).sum() / (2 * eps)"
STEP = """        step = torch.zeros_like(x)
        step.view(-1)[i] = eps
"""

IN_PLACE = """        flat = x.view(-1)
        flat[i] += eps
        difference = f(x)
        flat[i] -= 2 * eps
        difference = difference - f(x)
        flat[i] += eps
"""

RESTORED = """        flat = x.view(-1)
        old = flat[i].item()
        flat[i] = old + eps
        difference = f(x)
        flat[i] = old - eps
        difference = difference - f(x)
        flat[i] = old
"""

WRONG = (
    Wrong("forward, halved", {BOTH: "f(x + step) - f(x)"}, "the differences span eps but are"),
    Wrong("forward", {BOTH: "f(x + step) - f(x)", RESULT: "(difference * dy).sum() / eps"},
          "the step goes forward only"),
    Wrong("backward", {BOTH: "f(x) - f(x - step)", RESULT: "(difference * dy).sum() / eps"},
          "the step goes backward only"),
    Wrong("central, doubled", {RESULT: "(difference * dy).sum() / eps"}, "but are divided by eps"),
    Wrong("not divided", {RESULT: "(difference * dy).sum()"}, "not divided by the step"),
    Wrong("no dy", {RESULT: "difference.sum() / (2 * eps)"}, "not multiplied by dy"),
    Wrong("its own element alone", {RESULT: "(difference * dy).view(-1)[i] / (2 * eps)"},
          "each dx is computed from its own y alone"),
    Wrong("a step left in x", {STEP: "        step = torch.zeros_like(x)\n        x.view(-1)[i] += eps\n"},
          "was each step undone"),
    Wrong("the steps taken back by arithmetic", {STEP + f"        difference = {BOTH}\n": IN_PLACE},
          "Change a copy of x"),
    Wrong("a result in float32", {"torch.empty_like(x)": "torch.empty(x.shape)"}, "the type of x, got torch.float32"),
    Wrong("by autograd", {"    dx = torch.empty_like(x)\n": "    x = x.clone().requires_grad_()\n"
          "    return torch.autograd.grad(f(x), x, dy)[0]\n"}, "the largest step is 0."),
    Wrong("all calls again", {BOTH: "(f(x + step) + f(x + step)) / 2 - f(x - step)"}, "two calls per element"),
    Wrong("an eps of its own", {"    dx = torch.empty_like(x)\n": "    dx = torch.empty_like(x)\n    eps = 1e-6\n"},
          "the largest step is 1e-06"),
    Wrong("another default eps", {"eps=1e-6": "eps=1e-5"}, "Without eps the smallest step is 1e-05"),
    Wrong("rows and columns only", {"x.numel()": "x.shape[0] * (x.shape[-1] if x.dim() > 1 else 1)"}, "wrong for x of shape (2, 3, 4)"),
    Wrong("in float32", {"f(x + step) - f(x - step)": "f((x + step).float()) - f((x - step).float())"},
          "The gradient of f(x) = x² is wrong"),
    Wrong("x itself changed, and its values restored", {STEP + f"        difference = {BOTH}\n": RESTORED},
          "the result of f is a view of its argument"),
    Wrong("one copy for all calls", {STEP + f"        difference = {BOTH}\n": RESTORED.replace("x.view", "p.view").replace("f(x)", "f(p)"),
          "    dx = torch": "    p = x.clone()\n    dx = torch"}, "The gradient of f(x) = x.T is wrong"),
    Wrong("a view of f's result", {"(difference * dy).sum()": "difference.view(-1) @ dy.view(-1)"}, "It raises RuntimeError"),
    Wrong("a view of dy", {"(difference * dy).sum()": "difference.reshape(-1) @ dy.view(-1)"}, "view size is not compatible"),
    Wrong("at least one dimension", {"x.numel()": "len(x) * (x.numel() // len(x))"}, "len() of a 0-d tensor"),
    Wrong("elements with dy = 0 skipped", {STEP: "        if dy.reshape(-1)[i % dy.numel()] == 0:\n            dx.view(-1)[i] = 0\n            continue\n" + STEP},
          "The gradient of softmax is off by"),
    Wrong("dy changed", {"    return dx": "    dy += 1\n    return dx"}, "The call has changed dy"),
    Wrong("no return", {"    return dx": "    pass"}, "tensor of shape (3,), got None"),
    Wrong("stored in x", {"torch.empty_like(x)": "x"}, "The call has changed x by"),
    Wrong("a sum in float32", {RESULT: "(difference * dy).float().sum() / (2 * eps)"}, "1e-9 is allowed"),
    Wrong("columns of a matrix of points", {BOTH: "f(points[:, i].reshape(x.shape)) - f(x - step)",
          "    dx = torch": "    points = x.reshape(-1, 1) + eps * torch.eye(x.numel(), dtype=x.dtype)\n    dx = torch"},
          "f receives a tensor that is not contiguous"),
)  # fmt: skip

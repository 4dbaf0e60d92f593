"""Puzzle week2/log_softmax_backward: the gradient of log-softmax."""

from forgekit.lessons.gates import looks_like
from forgekit.lessons.puzzle import puzzle

from ..gradients import after_down, shares, softmax_gradient


def _gradient(dy, y):
    return dy - y.exp() * dy.sum(1, keepdim=True)


def _inputs(draw, m, n):
    """Return dy, whose sum is below 0 in every second row, and y. In every fifth row, the weight of
    the last element is nearly 1."""
    dy = draw(m, n) + 1
    dy[1::2] *= -1
    y = (2 * draw(m, n)).float().log_softmax(1)
    y[2::5, -1] += 12
    return dy, y.log_softmax(1).to(draw.dtype)


def _with(total):
    """Return dx computed with another sum of dy."""
    return lambda dy, y, dx: dy.double() - y.double().exp() * total(dy)


EXERCISE = puzzle(
    title="compute the gradient of log-softmax",
    task="""
`y[m, n] = x[m, n] - log(exp(x[m, 0]) + … + exp(x[m, N-1]))` is the logarithm of softmax. From `dy` and y, compute `dx` for rows of any length. Support float32, float16 and bfloat16; compute in float32.
First derive the formula: ∂yⱼ/∂xᵢ = δᵢⱼ - pᵢ with p = exp(y), and the sum over j simplifies here as well. Signature: `log_softmax_backward(dy, y, dx)`.
""",
    hints=(
        "Σⱼ dyⱼ (δᵢⱼ - pᵢ): what does the sum over the first term reduce to, and what can you "
        "factor out of the sum over the second?",
        "There is one sum per row, but it differs from the one in softmax's gradient. It needs only one of the two rows, so the first loop reads only that row.",
        "`cute.math.exp(…, fastmath=True)` of a `Float32` belongs in the second loop, in the line that stores the result.",
    ),
    analysis="""
dx = dy - exp(y)·Σ dy. If the loss is the negative logarithm of one probability per row, dy is -1 at that element and 0 elsewhere. Then
Σ dy = -1, and dx is p - 1 at that element and p elsewhere: the *p minus one-hot* of cross-entropy. The first loop
reads only one matrix, so the kernel makes three reads and one write, whereas softmax's gradient makes four reads
and one write.
""",
    asked={"work": "one warp per row"},
    entry="log_softmax_backward",
    inputs=_inputs,
    result=_gradient,
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (1, 1025), (3, 129), (17, 32), (5, 33)],
    count=[(3, 100), (64, 500)],
    dtypes=("float32", "float16", "bfloat16"),
    misconceptions=[
        looks_like(lambda dy, y, dx: softmax_gradient(dy.double(), y.double().exp()), "this is the "
                   "gradient of softmax, whose sum is Σ dy·p, and which is multiplied by p."),
        looks_like(lambda dy, y, dx: softmax_gradient(dy.double(), y.double()), "this is the "
                   "gradient of softmax, with the logarithms in place of the probabilities."),
        looks_like(lambda dy, y, dx: dy.double() - y.double() * dy.double().sum(1, keepdim=True),
                   "y is the logarithm of a probability; the formula uses the probability."),
        looks_like(_with(lambda dy: dy.double().mean(1, True)), "Σ dy is divided by the number of "
                   "columns."),
        looks_like(lambda dy, y, dx: dy, "dx is dy: exp(y)·Σ dy is missing, or 0."),
        looks_like(lambda dy, y, dx: dy.double() - y.double().exp() * (y.double().exp() * dy.double())
                   .sum(1, keepdim=True), "the sum is Σ dy·p, but the logarithm's gradient needs Σ dy."),
        looks_like(_with(lambda dy: dy.double().sum(1, keepdim=True).abs()), "Σ dy has lost its sign."),
        looks_like(_with(shares), "instead of Σ dy, each element uses only the dy of its own lane's columns. The sum has to cover the whole row."),
        looks_like(_with(after_down), "only lane 0 has Σ dy, as shuffles down leave it, but every lane "
                   "needs it."),
        looks_like(_with(lambda dy: shares(dy, rounded=True)[:, :32].sum(1, keepdim=True)), "Σ dy is "
                   "rounded to the type of dy at each addition; add up in float32."),
    ],
    praise="Cross-entropy's gradient takes one more line.",
)  # fmt: skip

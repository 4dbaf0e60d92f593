"""Puzzle week2/temperature_backward: the gradient of softmax(x / t) with respect to x and to t."""

from forgekit.lessons.gates import Misconception, looks_like, read_at_most
from forgekit.lessons.puzzle import puzzle

from ..gradients import shares, softmax_gradient


def _inputs(draw, m, n):
    """Return dy that grows with x, because otherwise a few dt are nearly 0 and have few right
    digits, and x in proportion to t, which is far below 1, near 2, or above 4, and negative if n
    is a multiple of 32. In every fourth row, from the second on, one y is 0."""
    z, t = draw(m, n) / 2, draw.number(*((1.0, 3.0), (0.05, 0.09), (4.0, 9.0))[(m + n + 2) % 3])
    t = t if n % 32 else -t
    dy = draw(m, n) + 1 + 2 * z
    if n > 1:
        z[1::4, n // 2] -= 200
    x = z * t
    return dy, (x / t).softmax(1), x, t


def _gradients(dy, y, x, t):
    dz = softmax_gradient(dy, y)
    return dz / t, -(dz * x).sum(1) / t**2


def _dt_is(formula):
    """Return a test that is true if dx is right and dt, the second result, equals `formula` of dy,
    y, x (float64) and t."""

    def when(e):
        from forgekit.checking.compare import compare

        dy, y, x, t = e.case.args[:4]
        made = formula(dy.double(), y.double(), x.double(), t)
        dx_is_right = compare(e.got[4], e.case.expected[4], **e.case.tolerances).ok
        return dx_is_right and compare(e.got[5], made, rtol=1e-4, atol=1e-4).ok

    return when


EXERCISE = puzzle(
    title="add the gradient with respect to the temperature",
    task="""
`y = softmax(x / t)` has one temperature t, a `Float32`, for all rows. From dy, y and x, one kernel
computes `dx`, and `dt[m]`, the contribution of row m to the gradient with respect to t: `Σ dz·(-x /
t²)`, where dz is the gradient with respect to z = x / t. Support float32 rows of any length. Read `dy` and `y` twice, and `x` once. Signature: `temperature_backward(dy, y, x, t, dx, dt)`.
""",
    hints=(
        "dz = (dy - Σ dy·y)·y is known only after the first loop. If the second loop reads x, "
        "how many reductions does the kernel have, and where?",
        "The second loop can add up dz·x as it stores dx. Only this loop reads x.",
        "After the second loop, add up dt over the warp once, and then let one lane store it.",
    ),
    analysis="""
There are two reductions, one before dz and one after it: the second loop stores dx and adds up dt at the same
time. A single reduction of three sums would also work, because Σ dz·x = Σ dy·y·x - (Σ dy·y)·(Σ y·x), and all three
sums are known after one loop. But this is a difference of two numbers that may be large and nearly equal, so it
loses digits where x has a large mean. The gradient with respect to a number that many rows share requires a final
sum over the rows. Leave that sum to a second launch, such as a kernel of week 1.
""",
    asked={"work": "one warp per row"},
    entry="temperature_backward",
    inputs=_inputs,
    result=_gradients,
    sizes=[(2, 5), (1, 1), (3, 31), (2, 1000), (1, 1025), (5, 129), (17, 32), (9, 33)],
    count=[(3, 100), (64, 500)],
    rtol=2e-5,
    atol=1e-6,
    waste={"loaded": 1.1},
    misconceptions=[
        looks_like(lambda dy, y, x, t, dx, dt: softmax_gradient(dy.double(), y.double()), "dx is dz, "
                   "the gradient with respect to x / t: it is not yet divided by t."),
        looks_like(lambda dy, y, x, t, dx, dt: softmax_gradient(dy.double(), y.double()) * t, "dx is "
                   "dz multiplied by t."),
        looks_like(lambda dy, y, x, t, dx, dt: dy.double() * y / t, "dx is dy·y / t: nothing, or 0, "
                   "is subtracted from dy."),
        looks_like(lambda dy, y, x, t, dx, dt: (dy.double() - shares(dy * y)) * y / t, "instead of Σ dy·y, each element uses only the dy·y of its own lane's columns. The sum has to cover the whole row."),
        Misconception("dt has the wrong sign: a higher temperature makes x / t smaller where x is positive.",
             _dt_is(lambda *a: -_gradients(*a)[1])),
        Misconception("dt is divided by t instead of t², but the derivative of x / t is -x / t².",
             _dt_is(lambda *a: _gradients(*a)[1] * a[3])),
        Misconception("dt is -Σ dy·x / t²: it uses dy, the gradient with respect to y, instead of dz.",
             _dt_is(lambda dy, y, x, t: -(dy * x).sum(1) / t**2)),
        Misconception("dt is -Σ dy·y·x / t²: Σ dy·y is missing from its dz.",
             _dt_is(lambda dy, y, x, t: -(dy * y * x).sum(1) / t**2)),
    ],
    more=lambda make: (read_at_most(make, (5, 1000), {0: 2, 1: 2, 2: 1}),),
    praise="Your network can now learn its temperature.",
)  # fmt: skip

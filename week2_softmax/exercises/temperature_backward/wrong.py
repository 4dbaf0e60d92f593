"""Wrong solutions to week2/temperature_backward."""

from forgekit.lessons.wrong import Wrong

DX = "dx = (mdY[row, n] - dot) * mY[row, n] / t"
ADD = "dt += dx * mX[row, n]"
DT = "mdT[row] = -dt / t"
FIRST = "        dot = cute.arch.warp_reduction(dot, operator.add)\n"
SECOND = "        dt = cute.arch.warp_reduction(dt, operator.add)\n"

WRONG = (
    Wrong("not divided by t", {DX: "dx = (mdY[row, n] - dot) * mY[row, n]"}, "it is not yet divided by t"),
    Wrong("multiplied by t", {DX: "dx = (mdY[row, n] - dot) * mY[row, n] * t"}, "dz multiplied by t"),
    Wrong("no sum", {DX: "dx = mdY[row, n] * mY[row, n] / t"}, "dx is dy·y / t"),
    Wrong("dx of its own y alone", {DX: "dx = mdY[row, n] * mY[row, n] * (1.0 - mY[row, n]) / t"}, "instead of Σ dy·y, each element uses only"),
    Wrong("wrong sign", {DT: "mdT[row] = dt / t"}, "dt has the wrong sign"),
    Wrong("dt by t", {DT: "mdT[row] = -dt"}, "dt is divided by t instead of t²"),
    Wrong("dt of dy", {ADD: "dt += mdY[row, n] * mX[row, n] / t"}, "it uses dy, the gradient"),
    Wrong("dt without the sum", {ADD: "dt += mdY[row, n] * mY[row, n] * mX[row, n] / t"},
          "Σ dy·y is missing from its dz"),
    Wrong("dot not added up", {FIRST: ""}, "only the dy·y of its own lane's columns"),
    Wrong("dt not added up", {SECOND: ""}, "mdT: 2 of 2"),
    Wrong("distances of x from the row's first element", {FIRST: FIRST + "        first = mX[row, 0]\n", ADD: "dt += dx * (mX[row, n] - first)"}, "threads load 5 elements of mX more than once"),
    Wrong("dy and y of the first columns a third time", {FIRST: "        if lane < mY.shape[1]:\n            dot += 0.0 * mdY[row, lane] * mY[row, lane]\n" + FIRST}, "threads load 160 elements of mdY more than twice"),
    Wrong("every lane stores dt", {"        if lane == 0:": "        if lane >= 0:"},
          "stored more than once"),
    Wrong("t of its own", {
        "mY[row, n] / t": "mY[row, n] / Float32(0.5)",
        "-dt / t": "-dt / Float32(0.5)"}, "mdX: 9 of 10"),
    Wrong("t at least 1", {"-dt / t": "-dt / cute.arch.fmax(t, Float32(1.0))"}, "mdT: 5 of 5"),
    Wrong("t at least a quarter", {"mY[row, n] / t": "mY[row, n] / cute.arch.fmax(t, Float32(0.25))", "-dt / t": "-dt / cute.arch.fmax(t, Float32(0.25))"}, "pattern: actual equals expected times 0."),
    Wrong("the magnitude of t", {"mY[row, n] / t": "mY[row, n] / cute.arch.fmax(t, -t)"}, "actual equals expected times -1"),
    Wrong("x from y", {ADD: "dt += dx * t * cute.math.log(mY[row, n])"}, "mdT: 1 of 2 elements differs"),
    Wrong("t at most 3", {"mY[row, n] / t": "mY[row, n] / cute.arch.fmin(t, Float32(3.0))", "-dt / t": "-dt / cute.arch.fmin(t, Float32(3.0))"},
          "with m = 2, n = 1,000, float32 is also wrong"),
)  # fmt: skip

"""Other right solutions of week1/fix_the_counter."""

from forgekit.lessons.wrong import Wrong

FENCE = "        cute.arch.fence_acq_rel_gpu()\n"
COUNT = "        ticket = cute.arch.atomic_add(mCount.iterator, Int32(1))\n"

ALTERNATIVES = (
    Wrong("the counter releases and acquires", {FENCE + COUNT + FENCE:
          COUNT.replace("Int32(1))", 'Int32(1), sem="acq_rel", scope="gpu")')}),
    Wrong("all lanes execute the fences", {FENCE + COUNT + FENCE:
          FENCE[4:] + "    if lane == 0:\n" + COUNT + FENCE[4:]}),
    Wrong("all lanes acquire before they load the parts", {COUNT + FENCE: COUNT,
          "        best = -Float32.inf\n": FENCE + "        best = -Float32.inf\n"}),
    Wrong("the counter goes back by an atomic addition", {
        "mCount[0] = 0": "cute.arch.atomic_add(mCount.iterator, -pieces)"}),
)  # fmt: skip

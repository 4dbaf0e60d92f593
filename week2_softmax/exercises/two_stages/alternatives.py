"""Other right solutions of week2/two_stages."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("waits, then starts the next", {"        if v + 32 < vectors:\n            cute.copy(atom, gX[None, v + 32], tXsX[None, (k + 1) % 2])\n        cute.arch.cp_async_commit_group()\n        cute.arch.cp_async_wait_group(1)\n":
          "        cute.arch.cp_async_wait_group(0)\n        if v + 32 < vectors:\n            cute.copy(atom, gX[None, v + 32], tXsX[None, (k + 1) % 2])\n        cute.arch.cp_async_commit_group()\n"}),
)  # fmt: skip

"""Other right solutions of week1/last_block_mean."""

from forgekit.lessons.wrong import Wrong

ALTERNATIVES = (
    Wrong("one barrier more", {"    cute.arch.sync_threads()\n    if sTicket": "    cute.arch.sync_threads()\n    cute.arch.sync_threads()\n    if sTicket"}),
)  # fmt: skip

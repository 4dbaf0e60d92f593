"""Test that the pages correctly state which instructions the virtual GPU refuses, and which of
NVIDIA's examples it runs.
"""

from __future__ import annotations

import json
import re

import pytest

from forgekit.vgpu.errors import UnsupportedPtxError
from forgekit.vgpu.opcodes import REGISTRY
from forgekit.vgpu.program import load
from tests.book.conftest import ROOT
from tests.vgpu.test_refusals import BOXES, FOUR, HEAD, HELD, SIGNAL, WGMMA

PAGES = {
    p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8")
    for p in (*ROOT.glob("*.md"), *ROOT.glob("[bw]*/*.md"), *ROOT.glob("week*/[0-9]*.py"))
    if p.name != "CHANGELOG.md"  # which describes earlier versions
}
MAP = "[%rd0, {{{}}}]"
# Maps text on a page to the refused instruction.
REFUSED = {
    "(`.im2col`)": f"{BOXES}.3d.shared::cta.global.im2col.{SIGNAL} [%r1], "
    f"{MAP.format('%r1, %r1, %r1')}, [%r2]",
    "(`gather4`": f"{BOXES}.2d.shared::cta.global.tile::gather4.{SIGNAL} [%r1], "
    f"{MAP.format('%r1')}, [%r2]",
    "`scatter4`)": f"{BOXES}.2d.global.shared::cta.tile::scatter4.bulk_group "
    f"{MAP.format('%r1')}, [%r1]",
    "`cta_group::2`": f"{BOXES}.2d.shared::cta.global.tile.{SIGNAL}.cta_group::2 [%r1], "
    f"{MAP.format('%r1, %r2')}, [%r3]",
    "`cp.reduce.async.bulk` without a tensor map": "cp.reduce.async.bulk.global.shared::cta"
    ".bulk_group.add.f32 [%rd0], [%r1], 16",
    "(`tcgen05`)": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64",
    "sparse `wgmma`": f"{WGMMA}.sp.sync.aligned.m64n8k16.f32.f16.f16 {HELD}, 1, 1, 0, 0",
    "`mma` of float64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
    "{%rd1, %rd2}, {%rd1}, {%rd1}, {%rd1, %rd2}",
    "of 4 and 1 bits": f"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {FOUR}",
    "of sparse": f"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {FOUR}",
    "or scaled matrices": "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3"
    f".e4m3.f32.ue8m0 {FOUR}",
    "`ldmatrix` of elements of 8 bits": "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 "
    "{%r1, %r1}, [%r1]",
}
load(f"{HEAD}ret;\n}}\n")  # imports the module that registers all opcodes
ROOTS = {name.partition(".")[0] for name in REGISTRY} | {"tcgen05", "im2col", "gather4", "scatter4"}


def unspecified(text: str) -> list[str]:
    """Return the instructions that a text calls refused but that are not in REFUSED."""
    text = " ".join(re.sub(r"^# ?", "", text, flags=re.MULTILINE).split())
    found = []
    for sentence in re.split(r"(?<=[.?!])\s|\|", text):
        if not re.search(r"\brefuse", sentence, re.IGNORECASE):
            continue
        for name in re.finditer(r"`\.?([a-z]\w*)[\w.:]*`", sentence):
            known = [m.span() for words in REFUSED for m in re.finditer(re.escape(words), sentence)]
            if name[1] in ROOTS and not any(a <= name.start() < b for a, b in known):
                found.append(f"{name[0]} in {sentence.strip()!r}")
    return found


@pytest.mark.parametrize("words", REFUSED)
def test_what_a_page_calls_refused_is_refused(words: str) -> None:
    assert any(words in " ".join(text.split()) for text in PAGES.values())
    with pytest.raises(UnsupportedPtxError, match="does not support this"):
        load(f"{HEAD}{REFUSED[words]};\nret;\n}}\n")


def test_no_page_calls_more_refused() -> None:
    assert {name: found for name, text in PAGES.items() if (found := unspecified(text))} == {}


def test_a_stale_sentence_is_noticed() -> None:
    assert unspecified("On Hopper it is new. The virtual GPU refuses `mma`.")
    assert unspecified("# `wgmma.mma_async` is\n# refused here.")
    assert not unspecified("`mma` runs. The virtual GPU refuses sparse `wgmma`.")


def test_examples_to_try_ran() -> None:
    """Each command on the page runs a script, with arguments, that the corpus of examples lists as
    right.
    """
    page = PAGES["book/what_you_can_do_now.md"]
    said = re.findall(
        r"`uv run forgekit run cutlass/examples/python/CuTeDSL/(\S+\.py) ?(.*?)`", page
    )
    rows = json.loads((ROOT / "tests/cuda/golden/corpus.json").read_text(encoding="utf-8"))[
        "scripts"
    ]
    ran = {(row["file"], row["arguments"]) for row in rows if row["ended"] == "right"}
    assert len(said) == 4 and set(said) <= ran

"""Test pictures of banks: wavefronts, words, passes of wide accesses, drawn items, messages."""

import re

import numpy as np
import pytest
import torch

import forgekit as fk
from forgekit.errors import UsageError

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.profiling import shared_kernels
from tests.viz import warp_kernels as kernels
from tests.viz.pictures import assert_legible, boxes, line_of, texts, virtual

STORE = line_of(kernels, "sT[ty + ROWS * k, tx] =")
LOAD = line_of(kernels, "= sT[tx, ty + ROWS * k]")


def transposed(pad, **options):
    x, y = fk.randn(64, 64), fk.full((64, 64), -1.0)
    shown = fk.banks(virtual(kernels.tiled, x, y, pad), x, y, pad, **options)
    assert (y == -1).all()
    return shown


def loaded(index, vector=1, dtype=torch.float32):
    """Return fk.banks' result for a load from shared memory at these vector indices."""
    index = [*index] + [-1] * (64 - len(index))
    y, i = fk.empty(64 * vector, dtype=dtype), torch.tensor(index, dtype=torch.int32)
    sure = {"align": vector * y.itemsize, "divisible": {0: vector}} if vector > 1 else {}
    x, sizes = fk.zeros(2048, dtype=dtype), (vector, 2048, 64)
    run = virtual(shared_kernels.shared_load, x, i, fk.spec(y, **sure), *sizes)
    return fk.banks(run, x, i, y, *sizes, line="sV[None, j]")


# -- data -------------------------------------------------------------------------------------
def test_a_tile_without_padding_and_a_padded_one():
    shown = transposed(0)
    store, load = shown.accesses
    assert (store.kind, store.source.line) == ("store", STORE)
    assert (load.kind, load.source.line) == ("load", LOAD)
    assert store.address.tolist() == [4 * i for i in range(32)]
    assert load.address.tolist() == [128 * i for i in range(32)]
    assert [(u.wavefronts, u.ideal) for u in shown.uses] == [(1, 1), (32, 1)]
    (only,) = shown.uses[1].passes
    assert only.words == {0: [(32 * i, (i,)) for i in range(32)]}
    assert repr(shown) == (
        "banks of tiled\n"
        f"  store, line {STORE}: 1 wavefront: no two words in one bank\n"
        "    warp 0 of block 0, all 32 lanes, 4 bytes each, the 1st of 4 accesses on this line; "
        "4 bytes from lane to lane; all 32 banks\n"
        f"  load, line {LOAD}: 32 wavefronts, 1 would do: all 32 lanes in bank 0\n"
        "    warp 0 of block 0, all 32 lanes, 4 bytes each, the 1st of 4 accesses on this line; "
        "128 bytes from lane to lane; bank 0 of 32"
    )
    use = transposed(1, line=LOAD).uses[0]
    assert use.text == "1 wavefront: no two words in one bank" and len(use.passes[0].words) == 32


@pytest.mark.parametrize(
    ("index", "vector", "dtype", "text"),
    [
        ([5] * 32, 1, torch.float32, "1 wavefront: all lanes read the same address in one "
         "broadcast"),
        ([2 * i for i in range(32)], 1, torch.float32,
         "2 wavefronts, 1 would do: up to 2 different words in one bank"),
        ([33 * i for i in range(32)], 1, torch.float32, "1 wavefront: no two words in one bank"),
        ([9], 1, torch.float32, "1 wavefront: a single lane"),
        (range(32), 1, torch.float16, "1 wavefront: no two words in one bank"),
        (range(32), 1, torch.int8, "1 wavefront: no two words in one bank"),
        ([64 * i for i in range(32)], 1, torch.float16,
         "32 wavefronts, 1 would do: all 32 lanes in bank 0"),
    ],
)  # fmt: skip
def test_reasons(index, vector, dtype, text):
    shown = loaded(index, vector, dtype)
    assert shown.uses[0].text == text
    assert_legible(shown)


@pytest.mark.parametrize(
    ("vector", "step", "passes", "wavefronts", "text"),
    [
        (2, 1, 2, 2, "2 wavefronts: one per half warp with 8-byte accesses, no conflict"),
        (4, 1, 4, 4, "4 wavefronts: one per quarter warp with 16-byte accesses, no conflict"),
        (2, 16, 2, 32, "32 wavefronts, 2 would do: lanes 0–15 in banks 0–1"),
        (4, 8, 4, 32, "32 wavefronts, 4 would do: lanes 0–7 in banks 0–3"),
    ],
)
def test_wide_accesses_in_passes(vector, step, passes, wavefronts, text):
    shown = loaded([step * i for i in range(32)], vector)
    (use,) = shown.uses
    assert len(use.passes) == passes and use.wavefronts == wavefronts and use.text == text
    assert sum(p.wavefronts for p in use.passes) == wavefronts
    lanes = [lane for p in use.passes for lane in p.lanes]
    assert lanes == [*range(32)]
    assert texts(shown, "lane") == [str(i) for i in range(32)]
    starts = [t for t in texts(shown, "row label") if t.startswith("lanes ")]
    assert len(starts) == passes and starts[0].startswith(f"lanes 0–{32 // passes - 1}:")
    assert_legible(shown)


@pytest.mark.parametrize(
    ("index", "vector", "lanes", "wavefronts"),
    [([5] * 32, 2, [32], 1), ([i // 2 for i in range(32)], 4, [16, 16], 2),
     ([i // 4 for i in range(32)], 4, [16, 16], 2)],
)  # fmt: skip
def test_wide_loads_of_lanes_that_share_take_fewer_passes(index, vector, lanes, wavefronts):
    use = loaded(index, vector).uses[0]
    assert [len(p.lanes) for p in use.passes] == lanes and use.wavefronts == wavefronts
    assert sum(p.wavefronts for p in use.passes) == wavefronts


def test_random_words():
    index = np.random.default_rng(1).integers(0, 2048, 32)
    use = loaded(index.tolist()).uses[0]
    counts = np.bincount(np.unique(index) % 32)
    assert use.wavefronts == counts.max()
    assert {b: len(w) for b, w in use.passes[0].words.items()} == {
        b: n for b, n in enumerate(counts.tolist()) if n
    }


def test_asynchronous_copies_store():
    x, y = fk.randn(128), fk.empty(128)
    run = virtual(kernels.asynchronous, fk.spec(x, static=True, align=16), y)
    (access,) = fk.banks(run, x, y, kind="store").accesses
    assert access.kind == "async store" and access.address.tolist() == [16 * i for i in range(32)]
    assert_legible(fk.banks(run, x, y))


def test_atomics_take_turns():
    x, y = torch.arange(64, dtype=torch.int32) // 8, fk.zeros(1, dtype=torch.int32)
    run = virtual(kernels.count, x, y)
    shown = fk.banks(run, x, y, kind="atomic")
    assert shown.uses[0].text == (
        "8 wavefronts, 1 would do: up to 8 lanes in one bank, where atomics are serialised"
    )
    assert texts(shown, "lane") == [str(8 * bank + turn) for turn in range(8) for bank in range(4)]
    assert_legible(shown)
    assert_legible(fk.banks(run, x, y))
    assert_legible(fk.coalescing(run, x, y))
    total = fk.coalescing(run, x, y, kind="atomic")
    assert total.counts[0].text == (
        "32 sectors for 4 bytes requested, 1 would do (lanes at one address are serialised)"
    )


@pytest.mark.parametrize("vector", [1, 2, 4])
def test_the_picture_has_as_many_rows_as_the_title_says(vector):
    random = np.random.default_rng(vector)
    for index in (random.integers(0, 2048 // vector, 32), random.integers(-200, 200, 32)):
        for use in loaded(np.maximum(index, -1).tolist(), vector).uses:
            assert sum(p.wavefronts for p in use.passes) == use.wavefronts


def test_wrong_use():
    for options, message in (
        ({"line": 3}, f"needed a line that performs a shared access: {STORE}, {LOAD}; choose"),
        (
            {"kind": "atomic"},
            "a kind of access that block 0 performs in shared memory: 'load', 'store'",
        ),
        ({"kind": "load", "line": STORE}, f"a line that performs a shared load: {LOAD};"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            transposed(0, **options)
    x, y = fk.randn(16, 320), fk.empty(320, 16)
    run = virtual(kernels.naive, x, y)
    with pytest.raises(
        UsageError, match=r"no access to shared memory, needed at least one; use fk\.coal"
    ):
        fk.banks(run, x, y)


# -- the picture ------------------------------------------------------------------------------
def test_conflicts_are_stacked():
    shown = transposed(0, kind="load")
    assert texts(shown, "title") == [
        f"load, line {LOAD}: 32 wavefronts, 1 would do: all 32 lanes in bank 0"
    ]
    words = boxes(shown, "word")
    assert len(words) == 32 and len(boxes(shown, "idle")) == 31 * 32
    assert len({round(w.x, 6) for w in words}) == 1
    tops = [w.y for w in words]
    assert tops == sorted(tops) and len(set(tops)) == 32
    assert_legible(shown)


def test_lanes_that_share_a_word_share_a_cell():
    assert texts(loaded([5] * 32), "lane") == ["0–31"]
    shown = loaded([5, 9] * 16)
    assert texts(shown, "lane") == ["×16"] * 2 and len(boxes(shown, "word")) == 2
    assert any("×n: n lanes request the same word" in t for t in texts(shown))
    halves = loaded(range(32), 1, torch.float16)
    assert set(texts(halves, "lane")) == {"×2"} and len(boxes(halves, "word")) == 16


def test_a_strip_of_several():
    shown = transposed(0, warps=2)
    assert shown.headline == "tiled: shared-memory requests by 2 warps"
    assert len(texts(shown, "panel title")) == 4
    assert sum("24 more wavefronts in between" in t for t in texts(shown)) == 2
    assert_legible(shown)

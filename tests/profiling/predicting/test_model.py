"""Test the time model: each bound alone, the combination of bounds, the number of resident
blocks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from forgekit.profiling.predicting.constants import calibration
from forgekit.profiling.predicting.model import (
    AGAIN_US,
    BOUNDS,
    bounds,
    combined,
    microseconds,
    resident_blocks,
)
from tests.profiling.predicting.launches import facts

H200 = calibration("H200").constants
CLOCK = H200.clock * 1e3  # cycles per µs
MANY = 10_000_000
HIDDEN = {"blocks": 1320, "warps": 1320 * 32, "threads": 1024}  # many warps hide latency


def sectors(kind: str, n: int, ideal: int | None = None) -> dict[str, object]:
    """Return facts with n sectors (wavefronts) of one kind of access, of which `ideal` (by default
    all) are needed."""
    return {"sectors": {kind: n}, "ideal": {kind: n if ideal is None else ideal}}


# For each bound, the facts that increase only this bound, and its microseconds.
ALONE = {
    "launch": ({"blocks": MANY, "warps": MANY}, MANY / H200.blocks / 1e3),
    "dram": ({"read_pairs": MANY, "read_sectors": 2 * MANY}, 64 * MANY / H200.dram / 1e6),
    "l2": ({"bulk_bytes": 32 * MANY}, 32 * MANY / H200.l2 / 1e6),
    "l1": ({**HIDDEN, **sectors("global_load", MANY)}, MANY / 4 / (132 * H200.lines * CLOCK)),
    "shared": (sectors("shared_load", MANY), MANY / (132 * H200.shared * CLOCK)),
    "issue": ({**HIDDEN, "issued": float(MANY)}, MANY / (4 * 132 * CLOCK)),
    "tensor": ({"fmas": 1e3 * MANY}, 1e3 * MANY / (1250 * 132 * CLOCK)),
    "latency": ({"waits": {"compute": float(MANY)}}, MANY * H200.waits / 132 / CLOCK),
    **{
        pipe: ({"slots": {pipe: MANY}}, MANY / (getattr(H200, pipe) * 132 * CLOCK))
        for pipe in ("fp32", "int", "fp64", "special", "shuffle", "barrier")
    },
    "atomics": (
        {"requests": {"global_atomic": MANY}, "atomic_sectors": 1}, MANY / H200.atomics / 1e3
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_each_bound_can_be_the_longest(name):
    changes, expected = ALONE[name]
    found = bounds(facts(**changes), H200)
    assert max(found, key=found.__getitem__) == name
    assert found[name] == pytest.approx(expected, rel=0.01)


def test_every_bound_has_its_words_and_its_test():
    assert ALONE.keys() | {"start"} == BOUNDS.keys() == {"start", *bounds(facts(), H200)}


def test_lone_warps_are_bound_by_latency_rather_than_by_issue():
    """A warp issues at most one instruction per cycle; four schedulers need four warps."""
    found = bounds(facts(issued=1e9), H200)
    assert found["latency"] == pytest.approx(4 * found["issue"], rel=0.01)
    assert max(found, key=found.__getitem__) == "latency"


@pytest.mark.parametrize("name", ALONE)
def test_twice_the_work_takes_twice_as_long(name):
    changes, _ = ALONE[name]
    work = changes if name == "launch" else {k: v for k, v in changes.items() if k not in HIDDEN}
    twice = {k: {n: 2 * v for n, v in x.items()} if isinstance(x, dict) else 2 * x
             for k, x in work.items() if k != "atomic_sectors"}  # fmt: skip
    one, two = (bounds(facts(**{**changes, **c}), H200)[name] for c in ({}, twice))
    assert two == pytest.approx(2 * one, rel=0.02)


def test_few_blocks_keep_few_multiprocessors_busy():
    work = sectors("shared_load", MANY)
    one, many, uneven = (bounds(facts(blocks=n, warps=n, **work), H200)["shared"]
                         for n in (1, 132, 198))  # fmt: skip
    assert one == pytest.approx(132 * many)
    assert uneven == pytest.approx(many * 132 / 99)  # half of the multiprocessors run two blocks


def test_blocks_that_share_move_what_they_share_once():
    """All blocks load the same megabyte, which device memory supplies once and L2 each time."""
    each = 2**20 // 32
    f = facts(loads=132.0 * each, near_loads=132.0 * each / 16, read_sectors=each,
              read_pairs=each // 2)  # fmt: skip
    assert bounds(f, H200)["dram"] == pytest.approx(2**20 / H200.dram / 1e6, rel=0.01)
    assert bounds(f, H200)["l2"] == pytest.approx(132 * 2**20 / H200.l2 / 1e6, rel=0.01)


def test_what_l2_cannot_hold_is_read_again():
    """1,000 rounds of blocks each load the same 500 MB."""
    n = 500_000_000 // 32
    f = facts(blocks=1000 * 132 * 32, warps=1000 * 132 * 32, loads=1000.0 * n,
              near_loads=1000.0 * n, read_sectors=n, read_pairs=n // 2)  # fmt: skip
    once = replace(f, loads=float(n), near_loads=float(n))
    assert bounds(f, H200)["dram"] > 500 * bounds(once, H200)["dram"]


def test_sectors_stored_in_part_cost_more():
    whole, part = (bounds(facts(stores=1e6, **sectors("global_store", 10**6, n)), H200)["l2"]
                   for n in (10**6, 125_000))  # fmt: skip
    assert part == pytest.approx(whole * (1 + H200.partial * 7 / 8))


def test_atomics_on_few_addresses_wait_for_each_other():
    def passes(requests: int, units: int, ideal: int, spread: int) -> float:
        kinds = {"requests": requests, "sectors": units, "ideal": ideal}
        f = facts(atomic_sectors=spread, **{k: {"global_atomic": n} for k, n in kinds.items()})
        return bounds(f, H200)["atomics"] * H200.atomics * 1e3

    assert passes(1000, 4000, 4000, 1) == pytest.approx(1000)  # neighbours: one line per pass
    assert passes(1000, 32000, 1000, 1) == pytest.approx(32000)  # one address: one lane each
    assert passes(1000, 32000, 4000, 1) == pytest.approx(0.4 * 32000)
    assert passes(1000, 4000, 4000, 1600) == pytest.approx(10)  # in 100 pieces of 512 bytes


def test_clusters_start_more_slowly():
    one, two = (bounds(facts(blocks=MANY, warps=MANY, cluster=n), H200)["launch"] for n in (1, 2))
    assert two / one == pytest.approx(H200.blocks / H200.cluster_blocks)


def test_the_longest_block_makes_the_others_wait():
    waits = {"waits": {"compute": 1e6}}
    even, uneven = (bounds(facts(longest=n, **waits), H200)["latency"] for n in (1.0, 3.0))
    assert uneven == pytest.approx(even * (1 + 2 * H200.uneven), rel=0.01)


def test_loads_that_hit_l2_have_a_latency_of_their_own():
    common = {"waits": {"global": 132 * 600.0}, "loads": 1e6, "near_loads": 1e6, "warp_loads": 1e6,
              "sectors": {"global_load": 10**6}, "ideal": {"global_load": 0}}  # fmt: skip
    near = facts(read_pairs=0, read_sectors=10**6, **common)
    far = facts(read_pairs=500_000, read_sectors=10**6, **common)
    difference = bounds(far, H200)["latency"] - bounds(near, H200)["latency"]
    assert difference == pytest.approx(600 * (H200.latency - H200.l2_latency) / CLOCK, rel=0.01)


# -- together -----------------------------------------------------------------------------------
def test_bounds_combine_to_a_3_norm():
    assert combined({"a": 8.0}) == 8 and combined({}) == combined({"a": 0.0}) == 0
    assert combined({"a": 8.0, "b": 8.0}) == pytest.approx(8 * 2 ** (1 / 3))
    assert combined({"a": 3.0, "b": 4.0, "c": 5.0}) == pytest.approx(6)


def test_a_launch_that_follows_another_starts_faster():
    f = facts(issued=1e6)
    alone = combined(bounds(f, H200))
    assert microseconds([f], H200) == pytest.approx(H200.start_us + alone)
    assert microseconds([f] * 3, H200) == pytest.approx(H200.start_us + 2 * AGAIN_US + 3 * alone)
    assert microseconds([], H200) == 0


# -- occupancy ----------------------------------------------------------------------------------
# CUDA C++ Best Practices Guide, "Calculating Occupancy": with 37 registers per thread, twelve
# blocks of 128 threads (75 %), but four of 320 threads (63 %); with 32 registers, all 2,048 threads
# fit.
@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks"),
    [
        (128, 37, 0, 12), (320, 37, 0, 4), (128, 32, 0, 16), (1024, 32, 0, 2), (1024, 33, 0, 1),
        (32, 32, 0, 32), (32, 16, 0, 32), (64, 255, 0, 4), (1024, 255, 0, 1), (256, 64, 0, 4),
        (128, 32, 227 * 1024, 1), (128, 32, 113 * 1024, 2), (128, 32, 75 * 1024, 3),
        (64, 32, 48 * 1024, 4), (33, 32, 0, 32), (96, 40, 0, 16), (128, None, 0, 16),
    ],
)  # fmt: skip
def test_resident_blocks(threads, registers, shared, blocks):
    f = facts(threads=threads, registers=registers, shared_bytes=shared)
    assert resident_blocks(f, H200) == blocks


def test_more_resident_blocks_hide_more_latency():
    launched = {"blocks": 132 * 64, "warps": 132 * 64 * 4, "threads": 128,
                "waits": {"compute": 1e9}}  # fmt: skip
    few, many = (bounds(facts(registers=n, **launched), H200)["latency"] for n in (255, 32))
    assert few / many == pytest.approx(16 / 2, rel=0.01) and math.isfinite(few)

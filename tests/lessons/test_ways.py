"""Exercises may be solved in more than one way: each way that is one has to pass."""

from __future__ import annotations

import pytest

from forgekit.lessons.exercise import exercise
from tests.lessons.submitted import load

ROUND = """        sRow[tidx] = value
        cute.arch.sync_threads()
        value = sRow[(tidx + 1) % 64]
        cute.arch.sync_threads()
"""
LOOP = "    for _ in cutlass.range_constexpr(2):\n"

WAYS = {
    "week0/scale": {
        "by additions": {"3.0 * mX[i] + 1.0": "mX[i] + mX[i] + mX[i] + 1"},
        "blocks of 64": {"bidx * 128": "bidx * 64", "mX.shape[0], 128": "mX.shape[0], 64",
                         "(128, 1, 1)": "(64, 1, 1)"},
        "an early predicate": {"    if i < mX.shape[0]:": "    n = cute.size(mX)\n    if n > i:"},
    },
    "week0/reverse": {
        "writes backwards": {"mY[i] = mX[n - 1 - i]": "mY[n - 1 - i] = mX[i]"},
        "a view of the end": {"mX[n - 1 - i]": "mX[(n - i) - 1]"},
        "two elements a thread": {
            "    if i < n:\n        mY[i] = mX[n - 1 - i]":
            "    gdim, _, _ = cute.arch.grid_dim()\n    for j in range(i, n, gdim * 128):\n"
            "        mY[j] = mX[n - 1 - j]",
            "cute.ceil_div(mX.shape[0], 128)": "cute.ceil_div(mX.shape[0], 256)",
        },
    },
    "week0/rotate": {
        "barrier first": {ROUND: """        cute.arch.sync_threads()
        sRow[tidx] = value
        cute.arch.sync_threads()
        value = sRow[(tidx + 1) % 64]
"""},
        "no barrier after the last round": {
            LOOP: LOOP.replace("_", "k", 1),
            ROUND: ROUND.replace(
                "64]\n        cute.arch.sync_threads()",
                "64]\n        if cutlass.const_expr(k == 0):\n            cute.arch.sync_threads()",
            ),
        },
        "two rows in turn": {
            LOOP: LOOP.replace("_", "k", 1),
            "make_layout(64)": "make_layout((64, 2))",
            ROUND: """        sRow[tidx, k] = value
        cute.arch.sync_threads()
        value = sRow[(tidx + 1) % 64, k]
""",
        },
        "a loop at run time": {LOOP: LOOP.replace("range_constexpr(2)", "range(2, unroll=1)")},
        "written out": {LOOP + ROUND: (ROUND + ROUND).replace("        ", "    ")},
        "a barrier with a number": {
            "64]\n        cute.arch.sync_threads()":
            "64]\n        cute.arch.barrier(barrier_id=1, number_of_threads=64)"
        },
    },
    "week2/two_blocks": {
        "each thread merges all pairs": {
            "lane % 4], sPart[1, lane % 4]\n    m_row = cute.arch.warp_reduction(m, "
            "cute.arch.fmax, threads_in_group=4)\n": "0], Float32(0.0)\n    m_row = m\n"
            "    for k in cutlass.range_constexpr(1, 4):\n"
            "        m_row = cute.arch.fmax(m_row, sPart[0, k])\n",
            "    s *= cute.math.exp(m - m_row, fastmath=True)\n"
            "    s = cute.arch.warp_reduction(s, operator.add, threads_in_group=4)\n":
            "    for k in cutlass.range_constexpr(4):\n"
            "        s += sPart[1, k] * cute.math.exp(sPart[0, k] - m_row, fastmath=True)\n",
        },
    },
}  # fmt: skip
ALL = [(name, way) for name, ways in WAYS.items() for way in ways]


@pytest.mark.parametrize(("name", "way"), ALL, ids=lambda x: x.replace(" ", "-"))
def test_every_way_that_solves_it_passes(name, way, monkeypatch):
    monkeypatch.setenv("FORGEKIT_PROGRESS", "off")
    e = exercise(name)
    code = e.source.solution
    for old, new in WAYS[name][way].items():
        assert code.count(old) == 1
        code = code.replace(old, new)
    report = e.grade(load(e, code))
    assert report, report

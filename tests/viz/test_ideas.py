"""Pictures to play with, in a real browser: what they compute, say, and show without scripts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

import forgekit as fk
from forgekit.errors import UsageError
from forgekit.profiling.multiprocessor import MULTIPROCESSORS
from forgekit.viz import ideas
from forgekit.viz.ideas.flight import run as run_program
from forgekit.viz.ideas.online import steps

pytest.importorskip("cutlass", reason="CuTe DSL has wheels for Linux only")

from tests.viz import warp_kernels as kernels

SOURCES = {
    "butterfly": [[lane ^ (16 >> k) for lane in range(32)] for k in range(5)],
    "down": [[lane + (16 >> k) if lane + (16 >> k) < 32 else lane for lane in range(32)]
             for k in range(5)],
}  # fmt: skip
GOLDEN = Path(__file__).parents[1] / "profiling" / "golden" / "occupancy.json"
VALUES = [float(v) for v in torch.randn(60, generator=torch.Generator().manual_seed(1))]


@pytest.fixture(scope="module")
def made() -> dict[str, ideas.Idea]:
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    naive = fk.profile(fk.compile(kernels.naive, x, y, device="virtual"), x, y)
    tiled = fk.profile(fk.compile(kernels.tiled, x, y, 1, device="virtual"), x, y, 1)
    return {
        "warp": ideas.shuffle_steps(SOURCES),
        "online": ideas.online_softmax(VALUES),
        "traffic": ideas.traffic_film({"naive": naive, "tiled": tiled}),
        "flight": ideas.bytes_in_flight(
            {"elements": (8192.0, 1500.0)}, latency_ns=700, ceiling_gbps=4262
        ),
        "multiprocessor": ideas.fill_multiprocessor(tiled, registers=40),
    }


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    faults: list[str] = []
    pages = []

    def open_page(idea: ideas.Idea, width: int = 1280, **options: Any) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        pages.append(page)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda r: r.url.startswith(("about:", "data:")) or faults.append(r.url))
        page.set_content(f"<body data-theme=light>{idea.html}</body>")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert faults == []


def told(page: Any) -> str:
    return str(page.locator(".fk-idea .facts").inner_text())


KINDS = ("warp", "online", "traffic", "flight", "multiprocessor")


@pytest.mark.parametrize("kind", KINDS)
def test_it_fits_and_follows_the_page(visit: Any, made: Any, kind: str) -> None:
    assert len(made[kind].html) < 60_000
    for width, theme, card in ((1280, "light", "255, 255, 255"), (390, "dark", "27, 29, 33")):
        page = visit(made[kind], width)
        page.evaluate(f"document.body.dataset.theme = '{theme}'")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        ground = "getComputedStyle(document.querySelector('.fk-idea')).backgroundColor"
        assert page.evaluate(ground) == f"rgb({card})"
        assert page.locator(".fk-idea svg").get_attribute("aria-label")
        texts = page.locator(".fk-idea svg text").all()
        assert min(text.bounding_box()["height"] for text in texts) > 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_still_says_the_same_without_scripts(visit: Any, made: Any, kind: str) -> None:
    page = visit(made[kind], java_script_enabled=False)
    still = page.locator(".fk-idea img")
    assert still.get_attribute("alt") == made[kind].alt
    assert made[kind].words.split("\n")[-1] in made[kind].alt


def test_a_lane_lights_the_lanes_it_has_added_up(visit: Any, made: Any) -> None:
    page = visit(made["warp"])
    page.get_by_role("slider").press("End")
    assert "after 5 shuffles: 32 of 32 lanes hold all numbers once, 0 hold some" in told(page)
    page.locator("[data-lane='5'][data-row='2']").hover()
    assert told(page).startswith(
        "Lane 5 after 2 shuffles holds the numbers of 4 lanes: 5, 13, 21, 29."
    )
    lit = page.locator("[data-row='0']:has(.on)")
    assert [lane.get_attribute("data-lane") for lane in lit.all()] == ["5", "13", "21", "29"]
    page.get_by_role("button", name="down").click()
    page.locator(".fk-idea svg").focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert "Lane 31 after 1 shuffles holds the numbers of 1 lanes: 31 (2 times)" in told(page)


def test_the_online_softmax_computes_what_python_does(visit: Any, made: Any) -> None:
    page = visit(made["online"])
    m, s = steps(VALUES)[-1][0]
    assert f"m = {m:.3g}, s = {s:.3g}." in told(page)
    assert math.isclose(s, sum(math.exp(v - max(VALUES)) for v in VALUES), rel_tol=1e-6)
    svg = page.locator(".fk-idea svg")
    svg.focus()
    for _ in range(41):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert "Computed again: 20 of 60 steps." in told(page)
    point = page.locator("[data-hit='50']")
    box = point.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] - 400)
    page.mouse.up()
    assert "Number 50" in told(page) and "the maximum grew" in told(page)
    page.get_by_role("slider", name="add to all").press("End")
    assert "it overflowed" in told(page)


def test_the_film_counts_to_the_profiles_bytes(visit: Any, made: Any) -> None:
    page = visit(made["traffic"], reduced_motion="reduce")
    page.get_by_role("button", name="Play").click()
    assert page.get_by_role("button", name="Play").count() == 1  # a step, and no motion
    page.get_by_role("slider").press("End")
    for line in made["traffic"].words.split("\n"):
        name, numbers = line.split(": ")
        moved, used = numbers.split(" bytes moved, ")[0], numbers.split(", ")[-1].split(" of")[0]
        assert f"in the whole run {used} of {moved}" in told(page), name


def test_the_film_plays(visit: Any, made: Any) -> None:
    page = visit(made["traffic"])
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("Number(document.querySelector('.fk-idea input').value) > 8")
    page.get_by_role("button", name="Pause").click()
    assert page.locator("[data-used='4']").count() > 0  # naive's sectors


def test_bytes_in_flight_meet_the_ceiling(visit: Any, made: Any) -> None:
    page = visit(made["flight"])
    assert "2,048 bytes in flight per multiprocessor: 386 GB/s. The latency is the limit" in told(
        page
    )
    page.get_by_role("slider", name="bytes per load").press("End")
    page.get_by_role("slider", name="loads in flight per lane").press("End")
    assert "4,262 GB/s. Memory is the limit" in told(page)


def test_a_multiprocessor_is_filled_as_cuda_fills_it(visit: Any, made: Any) -> None:
    """The golden file is what NVIDIA's cuda_occupancy.h of CUDA 13.0 gives for registers, threads
    and bytes; the script has to give the same."""
    page = visit(made["multiprocessor"])
    assert told(page).startswith(
        "6 blocks per multiprocessor: 48 of 64 warps (75 %). Full first: reg"
    )
    script = Path(ideas.__file__).with_name("multiprocessor.js").read_text()
    page.add_script_tag(content=script)
    for arch, rows in json.loads(GOLDEN.read_text()).items():
        has = MULTIPROCESSORS[arch]
        wanted = [blocks for *_, blocks in rows]
        assert [min(has.limits(t, r, b).values()) for r, t, b, _ in rows] == wanted
        ask = (
            "([has, rows]) => rows.map(([r, t, b]) => "
            "Math.min(...Object.values(fk_multiprocessor.limits(has, t, r, b))))"
        )
        assert page.evaluate(ask, [asdict(has), rows]) == wanted
    page.get_by_role("slider", name="registers per thread").press("End")
    assert "Full first: registers" in told(page)


def test_slips_are_refused_in_words() -> None:
    for call, words in (
        (lambda: ideas.shuffle_steps({"a": [[0, 9]]}), "2 lanes from 0 to 1"),
        (lambda: ideas.online_softmax([float("inf")]), "1 to 64 finite numbers"),
        (lambda: ideas.traffic_film({}), "one or two"),
        (lambda: ideas.bytes_in_flight({}, latency_ns=0, ceiling_gbps=1), "a positive number"),
        (lambda: ideas.fill_multiprocessor(arch="sm_70"), "choose one"),
    ):
        with pytest.raises(UsageError, match=words):
            call()


def test_a_second_buffer_hides_copies() -> None:
    step = [("copy", 0), ("wait", 0), ("work", 100)]
    early = [("copy", 0), ("wait", 1), ("work", 100)]
    assert run_program(step * 5, 600, 2)[-1] == ("work", 3800, 4000)
    # A copy starts before the work on the previous tile, so every second wait ends immediately.
    assert run_program([("copy", 0), *early * 4, *step[1:]], 600, 2)[-1] == ("work", 2200, 2400)

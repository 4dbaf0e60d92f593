"""Test interactive pictures in a real browser: their numbers, texts, and display without
scripts."""

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

from cutlass import cute

from forgekit.viz.ideas.warp import cute_shuffles
from tests.viz import warp_kernels as kernels

GOLDEN = Path(__file__).parents[1] / "profiling" / "golden" / "occupancy.json"
VALUES = [float(v) for v in torch.randn(60, generator=torch.Generator().manual_seed(1))]


@pytest.fixture(scope="module")
def made() -> dict[str, ideas.Idea]:
    x, y = fk.randn(64, 64), fk.empty(64, 64)
    naive = fk.profile(fk.compile(kernels.naive, x, y, device="virtual"), x, y)
    tiled = fk.profile(fk.compile(kernels.tiled, x, y, 1, device="virtual"), x, y, 1)
    x, y = fk.randn(640), fk.empty(32)
    lines = {f"buffers: {n}": fk.timeline(fk.compile(
        kernels.streamed, fk.spec(x, static=(0,), align=16), y, n, device="virtual"), x, y, n)
        for n in (1, 2)}  # fmt: skip
    return {
        "pipeline": ideas.pipeline(lines),
        "warp": ideas.shuffle_steps(),
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


KINDS = ("warp", "online", "traffic", "flight", "pipeline", "multiprocessor")


CUT = """all => all.filter((text) => {
    const [t, s] = [text, text.ownerSVGElement].map((x) => x.getBoundingClientRect());
    return t.height < 10 || t.left < s.left - 1 || t.right > s.right + 1 || t.top < s.top - 2
        || t.bottom > s.bottom + 2;
}).map((text) => text.textContent)"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(("theme", "card"), [("light", "255, 255, 255"), ("dark", "27, 29, 33")])
def test_it_fits_and_follows_the_page(
    visit: Any, made: Any, kind: str, width: int, theme: str, card: str
) -> None:
    """Even at the last setting, nothing scrolls horizontally or is cut off, and no text is too
    small.
    """
    assert len(made[kind].html) < 60_000
    page = visit(made[kind], width)
    page.evaluate(f"document.body.dataset.theme = '{theme}'")
    ground = "getComputedStyle(document.querySelector('.fk-idea')).backgroundColor"
    assert page.evaluate(ground) == f"rgb({card})"
    for slider in [None, *page.get_by_role("slider").all()]:
        if slider is not None:
            slider.press("End")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".fk-idea .box").evaluate("b => b.scrollWidth <= b.clientWidth")
        assert page.locator(".fk-idea svg text").evaluate_all(CUT) == []
    assert page.locator(".fk-idea svg").get_attribute("aria-label")


@pytest.mark.parametrize("kind", KINDS)
def test_keys_reach_each_control_and_paper_shows_the_drawing(
    visit: Any, made: Any, kind: str
) -> None:
    page = visit(made[kind])
    for control in page.locator(".fk-idea :is(input, button)").all():
        control.focus()
        before = page.locator(".fk-idea").evaluate("x => x.outerHTML")
        slides = control.evaluate("x => x.type") == "range"
        keys = ("ArrowRight", "ArrowLeft", "Home") if slides else ("Enter",)
        pressed = control.get_attribute("aria-pressed") == "true"
        changed = False
        for key in keys:
            page.keyboard.press(key)
            changed |= page.locator(".fk-idea").evaluate("x => x.outerHTML") != before
        assert changed or pressed or control.inner_text() == "back to the data"
    page.emulate_media(media="print")
    assert page.locator(".fk-idea svg").is_visible() and told(page)
    assert not page.locator(".fk-idea .controls").is_visible()


@pytest.mark.parametrize("kind", KINDS)
def test_a_still_says_the_same_without_scripts(visit: Any, made: Any, kind: str) -> None:
    page = visit(made[kind], java_script_enabled=False)
    still = page.locator(".fk-idea img")
    assert still.get_attribute("alt") == made[kind].alt
    assert made[kind].words.split("\n")[-1] in made[kind].alt


def test_the_shuffles_are_those_of_a_run() -> None:
    x, y = fk.arange(32, dtype=torch.int64), fk.empty(5, 32, dtype=torch.int64)
    shuffles = (cute.arch.shuffle_sync_bfly, cute.arch.shuffle_sync_down, cute.arch.shuffle_sync_up)
    for (name, sources), shuffle in zip(cute_shuffles().items(), shuffles, strict=True):
        fk.compile(kernels.shuffled(shuffle), x, y, device="virtual")(x, y)
        assert y.tolist() == sources, name


def test_a_lane_lights_the_lanes_it_has_added_up(visit: Any, made: Any) -> None:
    page = visit(made["warp"])
    page.get_by_role("slider").press("End")
    assert "after 5 of 5 shuffles: 32 of 32 lanes have the sum of all numbers; 0 added" in told(
        page
    )
    page.locator("[data-lane='5'][data-row='2']").hover()
    assert told(page).startswith(
        "Lane 5 after 2 shuffles holds the numbers of 4 lanes: 5, 13, 21, 29."
    )
    lit = page.locator("[data-row='0']:has(.on)")
    assert [lane.get_attribute("data-lane") for lane in lit.all()] == ["5", "13", "21", "29"]
    page.get_by_role("button", name="1 2 4 8 16").click()
    page.locator("[data-lane='5'][data-row='2']").hover()
    assert told(page).startswith(
        "Lane 5 after 2 shuffles holds the numbers of 4 lanes: 4, 5, 6, 7."
    )
    page.get_by_role("button", name="16 8 4 2 1").click()
    page.get_by_role("button", name="down").click()
    page.locator(".fk-idea svg").focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert "Lane 31 after 1 shuffles holds the number of lane 31 (2 times)" in told(page)


def test_on_a_phone_lanes_go_down_and_are_tapped(visit: Any, made: Any) -> None:
    page = visit(made["warp"], 390, has_touch=True)
    page.get_by_role("slider").press("End")
    tops = [
        page.locator(f"[data-lane='{lane}'][data-row='1']").bounding_box()["y"] for lane in (0, 31)
    ]
    assert tops[1] - tops[0] > 500
    page.locator("[data-lane='31'][data-row='5']").tap()
    assert told(page).startswith("Lane 31 after 5 shuffles holds the numbers of 32 lanes: 0, 1, ")


def test_a_finger_drags_a_point(visit: Any, made: Any) -> None:
    page = visit(made["online"], 390, has_touch=True)
    box = page.locator("[data-hit='50']").bounding_box()
    x, y = box["x"] + 2, box["y"] + 20
    touch = page.context.new_cdp_session(page)
    for kind, down in (
        ("touchStart", 0),
        ("touchMove", -20),
        ("touchMove", -90),
        ("touchEnd", None),
    ):
        points = [] if down is None else [{"x": x, "y": y + down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert told(page).startswith("Number 50: ") and "the maximum grew" in told(page)
    assert "Computed again: 10 of 60 steps" in told(page)


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
    for key, words, place in (
        ("End", "∞: it overflowed", "∞"),
        ("Home", "0: every term under", "0"),
    ):
        page.get_by_role("slider", name="add to all").press(key)
        assert words in told(page)
        assert page.locator("[data-naive]").get_attribute("data-naive") == place


def test_the_film_counts_to_the_profiles_bytes(visit: Any, made: Any) -> None:
    page = visit(made["traffic"], reduced_motion="reduce")
    page.get_by_role("button", name="Play").click()
    assert page.get_by_role("button", name="Play").count() == 1  # a step without motion
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
    assert page.locator("[data-used='4']").count() > 0  # sectors in the naive kernel


def test_bytes_in_flight_meet_the_ceiling(visit: Any, made: Any) -> None:
    page = visit(made["flight"])
    assert (
        "2,048 bytes in flight per multiprocessor: 386 GB/s, the ring. The latency is the limit"
        in told(page)
    )
    page.get_by_role("slider", name="bytes per load").press("End")
    page.get_by_role("slider", name="loads in flight per lane").press("End")
    assert "4,262 GB/s, the ring. Memory is the limit" in told(page)


def test_a_multiprocessor_is_filled_as_cuda_fills_it(visit: Any, made: Any) -> None:
    """The script must compute the same results as cuda_occupancy.h from CUDA 13.0, which the golden
    file records for combinations of registers, threads and bytes.
    """
    page = visit(made["multiprocessor"])
    assert told(page).startswith(
        "6 blocks per multiprocessor: 48 of 64 warps (75 %). Limited by reg"
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
    assert "Limited by registers" in told(page)


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


def test_the_page_runs_a_pipeline_as_python_does(visit: Any, made: Any) -> None:
    """With two buffers and five tiles, the last groups of copies are empty and have no bars."""
    page = visit(made["pipeline"])
    script = Path(ideas.__file__).with_name("pipeline.js").read_text()
    page.add_script_tag(content=script)
    ends = []
    for name, program in made["pipeline"].data["programs"].items():
        assert sum(kind == "copy" for kind, _ in program) == 5, name
        found = run_program([tuple(step) for step in program], 600, 2)
        asked = page.evaluate("(p) => fk_pipeline.run(p, 600, 2)", program)
        assert [tuple(step) for step in asked] == found
        ends.append(max(end for *_, end in found))
        assert f"{name}: {ends[-1]:,.0f} ns" in told(page)
    assert ends[1] < ends[0]
    assert page.locator("[data-kind='copy']").count() == 10


def test_a_second_buffer_hides_copies() -> None:
    step = [("copy", 0), ("wait", 0), ("work", 100)]
    early = [("copy", 0), ("wait", 1), ("work", 100)]
    assert run_program(step * 5, 600, 2)[-1] == ("work", 3800, 4000)
    # A copy starts before the work on the previous tile, so every second wait ends immediately.
    assert run_program([("copy", 0), *early * 4, *step[1:]], 600, 2)[-1] == ("work", 2200, 2400)

"""The right calls that the sweep of bad arguments starts from: all public names."""

from __future__ import annotations

from typing import Any

import cutlass
import cutlass.cute as cute
import torch

import forgekit as fk
from forgekit import dtypes, layouts, ops, ref, vgpu, viz
from tests.bad_arguments import Right


@cute.kernel
def add_kernel(mX: cute.Tensor, mY: cute.Tensor, bias: cutlass.Float32):
    smem = cutlass.memory.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < mX.shape[0]:
        sX[tidx] = mX[tidx]
        mY[tidx] = sX[tidx] + bias


@cute.jit
def add(mX: cute.Tensor, mY: cute.Tensor, bias: cutlass.Float32, n: cutlass.Constexpr = 64):
    add_kernel(mX, mY, bias).launch(grid=(1, 1, 1), block=(n, 1, 1))


FUNCTIONS = ("reference", "moved_bytes", "operations", "variants", "make_arguments")


def same(x: Any) -> Any:
    return x


def compiled() -> tuple[Any, ...]:
    """A compiled kernel and its arguments."""
    x, y = fk.randn(64), fk.empty(64)
    run = fk.compile(add, x, y, 1.0)
    run(x, y, 1.0)
    return run, x, y, 1.0


def makers(_: tuple[Any, ...]) -> list[Right]:
    s = ["arange", "empty", "ones", "rand", "randn", "zeros"]
    calls = [Right(name, getattr(fk, name), (4,)) for name in s]
    m = fk.ones(4)
    return [
        *calls,
        Right("full", fk.full, ((4,), 1.0)),
        Right("randint", fk.randint, (0, 5, 4)),
        Right("arange3", fk.arange, (0, 5, 2)),
        Right("spec", fk.spec, (m,)),
        Right("TensorSpec", fk.TensorSpec, (torch.float32, (4, None))),
        Right("TensorSpec.check", fk.spec(m).check, ("x", m, {}), skip=("name", "sizes")),
        Right("check", fk.check, (m, m), functions=("again",)),
        Right("check again", fk.check, (m, m), {"again": lambda: None}, functions=("again",)),
        Right("current_target", fk.current_target),
        Right("use_target", fk.use_target),
        Right("predict", fk.predict, ("blocks", 8)),
        Right(
            "predict metric",
            lambda global_load_sectors: fk.predict(global_load_sectors=global_load_sectors),
            (4,),
        ),
        Right("Prediction.against", fk.predict("blocks", 8).against, (8,)),
        Right("predictions", fk.predictions),
        Right("progress", fk.progress),
        Right("dtype_info", dtypes.dtype_info, (torch.float32,)),
        Right("cute_type", dtypes.cute_type, (torch.float32,)),
        Right("tolerance", dtypes.tolerance, (torch.float32,)),
        Right("cache_info", fk.cache_info),
    ]


def kernels(args: tuple[Any, ...]) -> list[Right]:
    run, x, y, _ = args
    return [
        Right("compile", fk.compile, (add, x, y, 1.0), skip=("cache",)),
        Right("run", run, args[1:]),
        Right(
            "run with names",
            lambda mX, mY, bias, n: run(mX=mX, mY=mY, bias=bias, n=n),
            (x, y, 1.0, 64),
        ),
        Right("check_arguments", run.check_arguments, ((x, y, 1.0),)),
        Right("profile", fk.profile, args),
        Right("sanitize", fk.sanitize, args),
        Right(
            "sanitize adversarial",
            fk.sanitize,
            args,
            {"schedule": "adversarial", "seeds": 1},
            skip=("args", "kernel", "schedule"),
        ),
        Right("footprint", fk.footprint, args),
        Right("coalescing", fk.coalescing, args),
        Right("banks", fk.banks, args),
        Right("timeline", fk.timeline, args),
        Right("bench", fk.bench, ({"a": run}, x, y, 1.0), functions=FUNCTIONS),
        Right(
            "bench function", fk.bench, ({"a": lambda x: x}, x), skip=("args",), functions=FUNCTIONS
        ),
        Right(
            "sweep", fk.sweep, ({"a": lambda x: x}, lambda n: fk.ones(n), [4]), functions=FUNCTIONS
        ),
        Right(
            "sweep option",
            lambda repeats: fk.sweep(
                {"a": lambda x: x}, lambda n: fk.ones(n), [4], repeats=repeats
            ),
            (4,),
        ),
        Right("options", vgpu.options),
        *[
            Right(f"options {name}", _option(name), (1,))
            for name in vgpu.Options.__dataclass_fields__
        ],
        Right("installed", vgpu.installed),
    ]


def _option(name: str) -> Any:
    return lambda value: vgpu.options(**{name: value})


def results(args: tuple[Any, ...]) -> list[Right]:
    run = args[0]
    profile = fk.profile(*args)
    footprint = fk.footprint(*args)
    b = fk.bench({"a": run, "b": run}, *args[1:])
    s = fk.sweep({"a": run}, lambda n: (fk.ones(n), fk.empty(n), 1.0), [4, 8])
    return [
        Right("Profile.filter", profile.filter),
        Right("Profile.sort", profile.sort),
        Right("Profile.show", profile.show),
        Right("Profile.bound_s", profile.bound_s),
        Right("Profile[]", lambda key: profile.total[key], ("warp_instructions",)),
        Right("Profile.line", lambda key: profile.lines[0][key], ("warp_instructions",)),
        Right("Footprint.describe", footprint.describe, ("mX",)),
        Right("Footprint.verb", footprint.verb, ("mX",)),
        Right("Benchmark.plot", b.plot),
        Right("Benchmark.roofline", b.roofline),
        Right("Benchmark[]", lambda key: b[key], ("a",)),
        Right("Sweep.plot", s.plot),
    ]


def layout_calls(_: tuple[Any, ...]) -> list[Right]:
    L, S = fk.Layout, fk.Swizzle
    a, t, composed = (
        L((4, 8), (8, 1)),
        L((2, 2)),
        fk.ComposedLayout(S(2, 0, 3), 0, L((8, 8), (8, 1))),
    )
    calls = [
        Right("Layout", L, ((4, 8), (8, 1))),
        Right("Swizzle", S, (3, 4, 3)),
        Right("ComposedLayout", fk.ComposedLayout, (S(2, 0, 3), 0, a)),
        Right("Basis", layouts.Basis, (1, (0,))),
        Right("Dynamic", layouts.Dynamic),
        Right("Swizzle()", S(3, 4, 3), (5,)),
        Right("parse", layouts.parse, ("(4,8):(8,1)",)),
        Right("of", layouts.of, (a,)),
        Right("Layout.of", L.of, (a,)),
        Right("read", layouts.read, (a,)),
        Right("explain", fk.explain, (a,)),
        Right("explore", fk.explore, (a,)),
        Right("explore smem", fk.explore, (a,), {"memory": "smem"}),
    ]
    for name in [
        "complement",
        "filter_zeros",
        "left_inverse",
        "right_inverse",
        "coalesce",
        "cosize",
        "size",
        "make_layout_like",
    ]:
        calls.append(Right(name, getattr(layouts, name), (a,)))
    for name in layouts.__all__:
        if name.endswith(("_divide", "_product")) or name in (
            "composition",
            "append",
            "prepend",
            "make_layout_tv",
        ):
            calls.append(Right(name, getattr(layouts, name), (a, t)))
    calls += [
        Right("group_modes", layouts.group_modes, (a, 0, 2)),
        Right("select", layouts.select, (a, [0])),
        Right("make_layout", layouts.make_layout, ((4, 8),)),
        Right("make_identity_layout", layouts.make_identity_layout, ((4, 8),)),
        Right("make_ordered_layout", layouts.make_ordered_layout, ((4, 8), (1, 0))),
        Right("product_each", layouts.product_each, ((4, 8),)),
        Right("tile_to_shape", layouts.tile_to_shape, (t, (4, 4), (0, 1))),
        Right("slice_layout", layouts.slice_layout, (a, (1, None))),
        Right("slice_and_offset", layouts.slice_and_offset, (a, (1, None))),
    ]
    for owner, layout in (("Layout", a), ("ComposedLayout", composed)):
        calls += [
            Right(f"{owner}()", layout, ((1, 2),)),
            Right(f"{owner}[]", layout.__getitem__, (0,)),
        ]
        calls += [
            Right(f"{owner}.{m}", getattr(layout, m), (0,))
            for m in ("mode", "size", "coordinate", "index")
        ]
        calls += [
            Right(f"{owner}.flatten", layout.flatten),
            Right(f"{owner}.cosize", layout.cosize),
        ]
    calls.append(Right("Layout.require_static", a.require_static, ("a size",)))
    return calls


def pictures(_: tuple[Any, ...]) -> list[Right]:
    a, tv = fk.Layout((4, 8), (8, 1)), fk.Layout((4, 2), (2, 1))
    m = fk.ones(4, 4)
    path = "picture.svg"
    viz.draw_layout(a).save(path)
    calls = [
        Right("draw_layout", viz.draw_layout, (a,)),
        Right("draw_swizzle_layout", viz.draw_swizzle_layout, (a,)),
        Right("draw_offsets", viz.draw_offsets, ([[1, 2], [3, 4]],)),
        Right("draw_tv_layout", viz.draw_tv_layout, (tv, (2, 4))),
        Right("draw_copy_layout", viz.draw_copy_layout, (tv, tv, (2, 4))),
        Right("draw_tiled_copy", viz.draw_tiled_copy, (tv, (2, 4))),
        Right("draw_tiled_mma", viz.draw_tiled_mma, (tv, (2, 4, 2))),
        Right("draw_mma_from_layouts", viz.draw_mma_from_layouts, (tv, tv, tv, (2, 4, 2))),
        Right("tidfrg_S", viz.tidfrg_S, (tv, (2, 4))),
        Right("tidfrg_D", viz.tidfrg_D, (tv, (2, 4))),
        Right("display_svg", viz.display_svg, (path,)),
        Right("mismatch_map", viz.mismatch_map, (m, m)),
        Right("LayoutPicture.save", viz.draw_layout(a).save, (path,)),
        Right("Explorer.save", fk.explore(a).save, (path,)),
    ]
    drawn = {c.name: c for c in calls}
    same = {
        "layout": "draw_layout",
        "swizzle_layout": "draw_swizzle_layout",
        "tv_layout": "draw_tv_layout",
        "copy_layout": "draw_copy_layout",
        "tiled_copy": "draw_tiled_copy",
        "tiled_mma": "draw_tiled_mma",
        "mma_layout": "draw_tiled_mma",
        "mma_from_layouts": "draw_mma_from_layouts",
        "offsets": "draw_offsets",
    }
    for what, name in same.items():
        args = drawn[name].args
        calls.append(Right(f"display_{what}", getattr(viz, f"display_{what}"), args))
        render = getattr(viz, f"render_{what}_svg", None) or getattr(viz, f"render_{what}", None)
        if render is not None:
            calls.append(Right(f"render_{what}", render, (*args, path)))
    return calls


def operators(_: tuple[Any, ...]) -> list[Right]:
    m = fk.randn(4, 8)
    calls = []
    for home in (ops, ref):
        where = home.__name__.rpartition(".")[2]
        calls += [
            Right(f"{where}.{n}", getattr(home, n), (m,))
            for n in ("copy_transpose", "reduce_sum", "softmax")
        ]
        calls.append(Right(f"{where}.softmax_backward", home.softmax_backward, (m, m)))
    return [
        *calls,
        Right("backend_names", ops.backend_names, ("softmax",)),
        Right("current_backend", ops.current_backend, ("softmax",)),
        Right("use_backend", ops.use_backend, ("ref",)),
        Right("set_default_backend", ops.set_default_backend, ("kernel",)),
        Right(
            "register_backend",
            ops.register_backend,
            ("softmax", "mine", lambda x, dim: x),
            {"replace": True},
        ),
    ]


HOMES = {
    "makers": makers,
    "kernels": kernels,
    "results": results,
    "layouts": layout_calls,
    "pictures": pictures,
    "operators": operators,
}
MODULES = (fk, layouts, ops, ref, viz, vgpu)
# They take no arguments or change the process; the engine of the exercises has its own tests.
NOT_TRIED = {"cache_clear", "exercise", "install", "is_installed", "uninstall"}

"""List a correct call of every public name; the sweep of bad arguments starts from these calls."""

from __future__ import annotations

from typing import Any

import cutlass
import cutlass.cute as cute
import torch

import forgekit as fk
from forgekit import dtypes, layouts, ops, ref, vgpu, viz
from forgekit.vgpu.host.options import Options
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


def compiled() -> tuple[Any, ...]:
    """Return a compiled kernel and its arguments."""
    x, y = fk.randn(64), fk.empty(64)
    run = fk.compile(add, x, y, 1.0)
    run(x, y, 1.0)
    return run, x, y, 1.0


def right(of: Any, *args: Any, **named: Any) -> Right:
    """Return a call named after the called function."""
    owner = getattr(of, "__self__", None)
    named_after = "" if owner is None else f"{type(owner).__name__}."
    return Right(f"{named_after}{of.__name__}", of, args, named)


def makers(_: tuple[Any, ...]) -> list[Right]:
    m = fk.ones(4)
    return [
        *(right(make, 4) for make in (fk.arange, fk.empty, fk.ones, fk.rand, fk.randn, fk.zeros)),
        right(fk.full, (4,), 1.0),
        right(fk.randint, 0, 5, 4),
        Right("arange3", fk.arange, (0, 5, 2)),
        right(fk.spec, m),
        right(fk.TensorSpec, torch.float32, (4, None)),
        Right("TensorSpec.check", fk.spec(m).check, ("x", m, {}), skip=("name", "sizes")),
        Right("check", fk.check, (m, m), functions=("again",)),
        Right("check again", fk.check, (m, m), {"again": lambda: None}, functions=("again",)),
        right(fk.current_target),
        right(fk.use_target),
        right(fk.predict, "blocks", 8),
        Right("predict metric", lambda sectors: fk.predict(global_load_sectors=sectors), (4,)),
        right(fk.predict("blocks", 8).against, 8),
        right(fk.predictions),
        right(fk.progress),
        *(right(f, torch.float32) for f in (dtypes.dtype_info, dtypes.cute_type, dtypes.tolerance)),
        right(fk.cache_info),
    ]


def kernels(args: tuple[Any, ...]) -> list[Right]:
    run, x, y, _ = args
    adversarial = {"schedule": "adversarial", "seeds": 1}
    ones, same = fk.ones, {"a": lambda x: x}
    return [
        Right("compile", fk.compile, (add, x, y, 1.0), skip=("cache",)),
        Right("run", run, args[1:]),
        Right("run with names", lambda mX, mY, bias, n: run(mX=mX, mY=mY, bias=bias, n=n),
              (x, y, 1.0, 64)),
        right(run.check_arguments, (x, y, 1.0)),
        *(right(look, *args) for look in (fk.profile, fk.sanitize, fk.footprint, fk.coalescing,
                                          fk.banks, fk.timeline)),
        Right("sanitize adversarial", fk.sanitize, args, adversarial,
              skip=("args", "kernel", "schedule")),
        Right("bench", fk.bench, ({"a": run}, x, y, 1.0), functions=FUNCTIONS),
        Right("bench function", fk.bench, (same, x), skip=("args",), functions=FUNCTIONS),
        Right("sweep", fk.sweep, (same, ones, [4]), functions=FUNCTIONS),
        Right("sweep option", lambda repeats: fk.sweep(same, ones, [4], repeats=repeats), (4,)),
        right(vgpu.options),
        *(Right(f"options {name}", _option(name), (1,))
          for name in Options.__dataclass_fields__),
        right(vgpu.installed),
    ]  # fmt: skip


def _option(name: str) -> Any:
    return lambda value: vgpu.options(**{name: value})


def results(args: tuple[Any, ...]) -> list[Right]:
    run = args[0]
    profile, footprint = fk.profile(*args), fk.footprint(*args)
    b = fk.bench({"a": run, "b": run}, *args[1:])
    s = fk.sweep({"a": run}, lambda n: (fk.ones(n), fk.empty(n), 1.0), [4, 8])
    return [
        *(right(f) for f in (profile.filter, profile.sort, profile.show, profile.bound_s)),
        *(right(f) for f in (b.plot, b.roofline, s.plot)),
        right(footprint.describe, "mX"),
        right(footprint.verb, "mX"),
        Right("Profile[]", lambda key: profile.total[key], ("warp_instructions",)),
        Right("Profile.line", lambda key: profile.lines[0][key], ("warp_instructions",)),
        Right("Benchmark[]", lambda key: b[key], ("a",)),
    ]


def layout_calls(_: tuple[Any, ...]) -> list[Right]:
    L, S = fk.Layout, fk.Swizzle
    a, t = L((4, 8), (8, 1)), L((2, 2))
    one = ("complement", "filter_zeros", "left_inverse", "right_inverse", "coalesce", "cosize",
           "size", "of", "read")  # fmt: skip
    two = [name for name in layouts.__all__ if name.endswith(("_divide", "_product"))]
    two += ["composition", "make_layout_tv"]
    calls = [
        right(L, (4, 8), (8, 1)),
        right(S, 3, 4, 3),
        right(fk.ComposedLayout, S(2, 0, 3), 0, a),
        right(layouts.Basis, 1, (0,)),
        right(layouts.Dynamic),
        Right("Swizzle()", S(3, 4, 3), (5,)),
        right(layouts.parse, "(4,8):(8,1)"),
        Right("Layout.of", L.of, (a,)),
        right(fk.explain, a),
        right(fk.explore, a),
        Right("figure", fk.figure, ("title", "alt"), {"height": 2.0, "panels": 2}),
        Right("explore smem", fk.explore, (a,), {"memory": "smem"}),
        *(right(getattr(layouts, name), a) for name in one),
        *(right(getattr(layouts, name), a, t) for name in two),
        right(layouts.group_modes, a, 0, 2),
        right(layouts.select, a, [0]),
        right(layouts.make_layout, (4, 8)),
        right(layouts.make_identity_layout, (4, 8)),
        right(layouts.slice_layout, a, (1, None)),
        right(layouts.slice_and_offset, a, (1, None)),
        right(a.require_static, "a size"),
    ]
    for layout in (a, fk.ComposedLayout(S(2, 0, 3), 0, L((8, 8), (8, 1)))):
        calls += [
            Right(f"{type(layout).__name__}()", layout, ((1, 2),)),
            *(right(f, 0) for f in (layout.__getitem__, layout.mode, layout.size)),
            *(right(f, 0) for f in (layout.coordinate, layout.index)),
            right(layout.flatten),
            right(layout.cosize),
        ]
    return calls


def pictures(_: tuple[Any, ...]) -> list[Right]:
    a, tv = fk.Layout((4, 8), (8, 1)), fk.Layout((4, 2), (2, 1))
    m = fk.ones(4, 4)
    path = "picture.svg"
    viz.draw_layout(a).save(path)
    drawn: dict[str, tuple[Any, ...]] = {  # arguments of draw_, display_ and render_
        "layout": (a,),
        "swizzle_layout": (a,),
        "offsets": ([[1, 2], [3, 4]],),
        "tv_layout": (tv, (2, 4)),
        "copy_layout": (tv, tv, (2, 4)),
        "tiled_copy": (tv, (2, 4)),
        "tiled_mma": (tv, (2, 4, 2)),
        "mma_layout": (tv, (2, 4, 2)),
        "mma_from_layouts": (tv, tv, tv, (2, 4, 2)),
    }
    calls = [
        right(viz.tidfrg_S, tv, (2, 4)),
        right(viz.tidfrg_D, tv, (2, 4)),
        right(viz.display_svg, path),
        right(viz.mismatch_map, m, m),
        right(viz.draw_layout(a).save, path),
        right(fk.explore(a).save, path),
    ]
    for what, args in drawn.items():
        for name in (f"draw_{what}", f"display_{what}"):
            calls += [right(getattr(viz, name), *args)] if hasattr(viz, name) else []
        for name in (f"render_{what}", f"render_{what}_svg"):
            calls += [right(getattr(viz, name), *args, path)] if hasattr(viz, name) else []
    return calls


def operators(_: tuple[Any, ...]) -> list[Right]:
    m = fk.randn(4, 8)
    calls = [
        right(ops.backend_names, "softmax"),
        right(ops.current_backend, "softmax"),
        right(ops.use_backend, "ref"),
        right(ops.set_default_backend, "kernel"),
        right(ops.register_backend, "softmax", "mine", lambda x, dim: x, replace=True),
    ]
    for home in (ops, ref):
        where = home.__name__.rpartition(".")[2]
        for name in ("copy_transpose", "reduce_sum", "softmax"):
            calls.append(Right(f"{where}.{name}", getattr(home, name), (m,)))
        calls.append(Right(f"{where}.softmax_backward", home.softmax_backward, (m, m)))
    return calls


HOMES = {
    "makers": makers,
    "kernels": kernels,
    "results": results,
    "layouts": layout_calls,
    "pictures": pictures,
    "operators": operators,
}
MODULES = (fk, layouts, ops, ref, viz, vgpu)
# These functions take no arguments or change the process; the exercise engine has separate tests.
NOT_TRIED = {"cache_clear", "exercise", "install", "is_installed", "uninstall"}

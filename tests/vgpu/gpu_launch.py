"""Launch hand-written PTX on a real GPU, as `ptx_launch.launch` does on the virtual GPU."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import torch
from cuda.bindings import driver
from ptx_launch import Dim, dim, kernel

from forgekit.vgpu.memory import tensor_maps


def launch(
    body: str, *arrays: np.ndarray, grid: Dim = 1, block: Dim = 32, cluster: Dim = 1, **_: object
) -> None:
    """Run a kernel's body on copies of the arrays in device memory, and copy them back.

    A tensor map among the arrays receives its tensor's device address. Options of the virtual GPU
    are ignored.
    """
    torch.cuda.init()
    whole = {id(base): base for base in map(_base, arrays)}
    there = {name: torch.from_numpy(_bytes(base)).cuda() for name, base in whole.items()}

    def moved(address: int) -> int | None:
        for name, base in whole.items():
            if 0 <= address - base.ctypes.data < base.nbytes:
                return there[name].data_ptr() + address - base.ctypes.data
        return None

    for name, base in whole.items():
        if base.dtype == np.uint8 and base.size == tensor_maps.BYTES:
            address = moved(int(base[:8].view(np.uint64)[0]))
            if address is not None:
                there[name][:8].view(torch.int64).fill_(address)
    _run(kernel(body, len(arrays)), [moved(a.ctypes.data) for a in arrays], grid, block, cluster)
    for name, base in whole.items():
        _bytes(base)[:] = there[name].cpu().numpy()


def driver_map(tensor: np.ndarray, box: tuple[int, ...], dtype: str, swizzle: int) -> bytes:
    """Return the tensor map that the CUDA driver encodes for a tensor in device memory."""
    torch.zeros(1, device="cuda")  # create a context
    kinds, swizzles = driver.CUtensorMapDataType, driver.CUtensorMapSwizzle
    names = {"u8": "UINT8", "f16": "FLOAT16", "f32": "FLOAT32", "f64": "FLOAT64", "s32": "INT32"}
    kind = getattr(kinds, f"CU_TENSOR_MAP_DATA_TYPE_{names[dtype]}")
    span = f"{swizzle}B" if swizzle else "NONE"
    made = _checked(
        driver.cuTensorMapEncodeTiled(
            kind,
            tensor.ndim,
            tensor.ctypes.data,
            [driver.cuuint64_t(n) for n in tensor.shape[::-1]],
            [driver.cuuint64_t(n) for n in tensor.strides[::-1][1:]],
            [driver.cuuint32_t(n) for n in box],
            [driver.cuuint32_t(1) for _ in box],
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            getattr(swizzles, f"CU_TENSOR_MAP_SWIZZLE_{span}"),
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    )
    return np.array([int(word) for word in made.opaque], np.uint64).tobytes()


def _base(array: Any) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def _run(text: str, addresses: list[int | None], grid: Dim, block: Dim, cluster: Dim) -> None:
    module = _checked(driver.cuModuleLoadData(text.encode() + b"\0"))
    function = _checked(driver.cuModuleGetFunction(module, b"k"))
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = dim(grid)
    config.blockDimX, config.blockDimY, config.blockDimZ = dim(block)
    if cluster != 1:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = attribute.value.clusterDim
        size.x, size.y, size.z = dim(cluster)
        config.attrs, config.numAttrs = [attribute], 1
    parameters = tuple(addresses), (ctypes.c_uint64,) * len(addresses)
    _checked(driver.cuLaunchKernelEx(config, function, parameters, 0))
    torch.cuda.synchronize()
    _checked(driver.cuModuleUnload(module))


def _checked(answer: tuple[Any, ...]) -> Any:
    error, *rest = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return rest[0] if rest else None

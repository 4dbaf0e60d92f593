"""Functions exported ahead of time, as object files and linked to a shared library, and loaded
again."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack, load_module, make_fake_compact_tensor


@cute.kernel
def add_kernel(mX: cute.Tensor, addend: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < mX.shape[0]:
        mX[tidx] = mX[tidx] + addend


@cute.jit
def add(mX: cute.Tensor, addend: cutlass.Int32, stream: cuda.CUstream):
    add_kernel(mX, addend).launch(grid=(1, 1, 1), block=(128, 1, 1), stream=stream)


@cute.jit
def add_two(mX: cute.Tensor, mY: cute.Tensor, addend: cutlass.Int32):
    add_kernel(mX, addend).launch(grid=(1, 1, 1), block=(128, 1, 1))
    add_kernel(mY, addend).launch(grid=(1, 1, 1), block=(128, 1, 1))


size = cute.sym_int()
fake = make_fake_compact_tensor(cutlass.Int32, (size,))
stream = cuda.CUstream(0)
x = torch.zeros(100, dtype=torch.int32, device="cuda")
y = torch.zeros_like(x)
with tempfile.TemporaryDirectory() as folder:
    compiled = cute.compile(add, fake, cutlass.Int32(0), stream)
    compiled.export_to_c(folder, "add", function_prefix="add_to")
    files = [Path(folder, "add.o"), Path(folder, "two.o")]
    compiled = cute.compile(add_two, fake, fake, cutlass.Int32(0), options="--enable-tvm-ffi")
    compiled.export_to_c(object_file_path=str(files[1]), function_name="add_two")
    load_module(str(files[0])).add_to(from_dlpack(x).mark_layout_dynamic(), 3, stream)
    load_module(str(files[1]), enable_tvm_ffi=True)["add_two"](x, y, 4)
    assert x.tolist() == [7] * 100 and y.tolist() == [4] * 100
    if compiler := shutil.which("cc"):
        library = Path(folder, "lib.so")
        subprocess.run([compiler, "-shared", "-o", library, *files], check=True)
        load_module(str(library)).add_to(from_dlpack(x).mark_layout_dynamic(), 3, stream)
        both = load_module(str(library), enable_tvm_ffi=True)
        both.add_two(x, y, -2)
        assert x.tolist() == [8] * 100 and y.tolist() == [2] * 100
        try:
            both.add_two(x, y[:50], 0)
        except ValueError as error:
            print(error)
        else:
            raise AssertionError("two sizes for one symbol")
    try:
        load_module(str(files[0]))["add_two"]
    except Exception as error:
        assert "'add_two', needed one of add_to" in str(error)
    else:
        raise AssertionError("a function that the file lacks")

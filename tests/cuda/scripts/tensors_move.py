"""Queries of tensors' devices; only a copy is on another device, and each move makes a copy."""

import copy
import io

import numpy as np
import torch
from torch.nn import functional

cpu = torch.randn(4, 6)
x = cpu.cuda()
assert x.is_cuda and not x.is_cpu and x.get_device() == 0 and str(x.device) == "cuda:0"
assert x.data_ptr() != cpu.data_ptr() and x.cuda() is x and x.to("cuda") is x
assert cpu.cpu() is cpu and not x.cpu().is_cuda and x.cpu().data_ptr() != x.data_ptr()
back = x.to("cpu", torch.float64)
assert back.device.type == "cpu" and back.dtype == torch.float64
assert x.to(torch.float16).is_cuda and cpu.to(device="cuda", dtype=torch.bfloat16).is_cuda
assert cpu.to(x).is_cuda and not x.to(cpu).is_cuda and x.half().is_cuda
results = (
    x + 1,
    x[0],
    x.T,
    x.sum(),
    x.max(dim=1).values,
    torch.cat([x, x]),
    torch.zeros_like(x),
    x.new_ones(3),
    functional.softmax(x, -1),
    torch.stack([x]),
    x.unbind()[0],
    x.new_tensor([1.0]),
    x.new_empty(2),
    cpu.to("cuda", non_blocking=True),
    torch.einsum("ij,kj->ik", x, x),
)
assert all(t.is_cuda for t in results)
made = (
    torch.tensor([1, 2], device="cuda"),
    torch.as_tensor([1.0], device="cuda"),
    torch.arange(3, device="cuda:0"),
    torch.from_numpy(np.ones(3)).cuda(),
    torch.empty(2, 3, device=torch.device("cuda")),
    torch.eye(2, device="cuda"),
)
assert all(t.device == torch.device("cuda:0") for t in made)
with torch.device("cuda"):
    assert torch.ones(2).is_cuda and torch.tensor([1.0]).is_cuda
assert not torch.ones(2).is_cuda
torch.set_default_device("cuda")
assert torch.rand(2).is_cuda and torch.tensor(1.0).is_cuda
torch.set_default_device(None)
try:
    x.numpy()
except TypeError as error:
    assert "Tensor.cpu()" in str(error)
else:
    raise AssertionError("numpy() of a tensor on the GPU")
assert np.array_equal(x.cpu().numpy(), cpu.numpy()) and "device='cuda:0'" in repr(x)

generator = torch.Generator(device="cuda").manual_seed(3)
first = torch.randn(5, device="cuda", generator=generator)
assert torch.equal(first, torch.randn(5, device="cuda", generator=generator.manual_seed(3)))
torch.cuda.manual_seed_all(7)
first = torch.rand(3, device="cuda")
torch.cuda.manual_seed_all(7)
assert torch.equal(first, torch.rand(3, device="cuda"))

leaf = torch.randn(3, requires_grad=True)
(leaf.cuda() * 2).sum().backward()
assert leaf.grad is not None and not leaf.grad.is_cuda
w = torch.ones(3, device="cuda", requires_grad=True)
(w * w).sum().backward()
assert w.is_leaf and w.grad.is_cuda
net = torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.LayerNorm(3)).to("cuda")
assert all(p.is_cuda for p in copy.deepcopy(net).parameters()) and net(x).is_cuda
with torch.autocast("cuda", dtype=torch.bfloat16):
    assert (x @ x.T).dtype == torch.bfloat16
assert torch.compile(lambda t: t * 2)(x).is_cuda
torch.backends.cuda.matmul.allow_tf32 = False
torch.testing.assert_close(torch.vmap(torch.sum)(x).cpu(), cpu.sum(1))

file = io.BytesIO()
torch.save({"x": x, "cpu": cpu}, file)
for location, places in (
    (None, (True, False)), ("cpu", (False, False)), ("cuda", (True, True)),
):  # fmt: skip
    file.seek(0)
    loaded = torch.load(file, map_location=location)
    assert (loaded["x"].is_cuda, loaded["cpu"].is_cuda) == places
    assert torch.equal(loaded["x"].cpu(), cpu)
torch.cuda.empty_cache()

"""Provide host code with a GPU on machines without one: torch's "cuda", cuda-python's driver and
runtime.

    forgekit.vgpu.install(cuda=True)     # `forgekit run` does this without a GPU

This package is a plug-in for the virtual GPU, which does not depend on it. `import forgekit`
registers the plug-in, and its first use imports it. Tensors on "cuda" remain in the CPU's memory.

    plugin.py           its start and stop, and queries from the virtual GPU
    patches.py          attributes that are replaced and restored
    marks.py            the marks of tensors that count as GPU tensors
    tensors.py          tensors' device queries and moves
    products.py         products of half-precision matrices, with a GPU's bits
    torch_cuda.py       torch.cuda
    graphs.py           streams, events, captured graphs
    device.py           the device's properties
    bindings.py         the driver's and the runtime's calls
    cute_dsl.py         CuTe DSL's own helpers
"""

"""Provide host code with a GPU on machines without one: torch's "cuda", cuda-python's driver and
runtime.

    forgekit.vgpu.install(cuda=True)     # `forgekit run` does this if there is no GPU

This package is a plug-in for the virtual GPU, which does not depend on it. `import forgekit`
registers the plug-in, and its first use imports it. Tensors on "cuda" remain in the CPU's memory.

    plugin.py           starts and stops the plug-in, and answers the virtual GPU's queries
    patches.py          attributes that are replaced and restored
    marks.py            marks the tensors that count as GPU tensors
    tensors.py          functions that query a tensor's device or move a tensor
    products.py         products of half-precision matrices, with the same bits as on a GPU
    torch_cuda.py       torch.cuda
    graphs.py           streams, events, captured graphs
    device.py           the device's properties
    bindings.py         the driver's and the runtime's calls
    cute_dsl.py         CuTe DSL's own helpers
"""

"""A GPU for host code where there is none: torch's "cuda", cuda-python's driver and runtime.

    forgekit.vgpu.install(cuda=True)     # what `forgekit run` does, where there is no GPU

A plug-in of the virtual GPU, which does not know it; `import forgekit` registers it, and it is
imported when it is asked for. Tensors on "cuda" stay in the CPU's memory.

    plugin.py           what starts and stops it, and what the virtual GPU asks it
    patches.py          attributes that are replaced, and put back
    marks.py            which tensors count as being on the GPU
    tensors.py          what tensors answer; how they move
    products.py         products of half-precision matrices, with a GPU's bits
    torch_cuda.py       torch.cuda
    graphs.py           streams, events, captured graphs
    device.py           what the device says of itself
    bindings.py         the driver's and the runtime's calls
    cute_dsl.py         CuTe DSL's own helpers
"""

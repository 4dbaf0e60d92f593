"""Report the virtual GPU's properties: the limits of its architecture, and this machine's
memory."""

from __future__ import annotations

import functools
import os
import sys
import uuid
from types import SimpleNamespace

from forgekit.vgpu.host import hooks, limits

L2_BYTES = 50 << 20  # as on an H100 or H200
CLOCK_KHZ, MEMORY_CLOCK_KHZ, MEMORY_BUS_BITS = 1_980_000, 3_201_000, 6144  # as on an H200
CUDA_VERSION = 13000  # 13.0, the minimum version for the DSL


def arch() -> str:
    """Return the target architecture, such as sm_90a."""
    return str(hooks.import_dsl().envar.arch)


def capability() -> tuple[int, int]:
    number = arch().removeprefix("sm_").rstrip("af")
    return int(number[:-1]), int(number[-1])


def name() -> str:
    return f"virtual GPU ({arch()})"


@functools.cache
def say_once() -> None:
    """Print a notice on stderr when a script first uses "cuda"."""
    print(
        f'forgekit: this machine has no GPU, so "cuda" is the {name()}. It runs on the CPU, in '
        "host memory, and its times are CPU times (--no-cuda turns it off).",
        file=sys.stderr,
    )


def memory_bytes() -> tuple[int, int]:
    """Return this machine's free and total memory, in bytes. The virtual GPU's tensors are stored
    there."""
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def properties() -> SimpleNamespace:
    """Return the properties in the form of `torch.cuda.get_device_properties`."""
    major, minor = capability()
    return SimpleNamespace(
        name=name(), major=major, minor=minor, total_memory=memory_bytes()[1],
        multi_processor_count=limits.MULTIPROCESSORS, L2_cache_size=L2_BYTES, warp_size=32,
        max_threads_per_multi_processor=limits.THREADS_A_MULTIPROCESSOR,
        max_threads_per_block=limits.MAX_BLOCK_THREADS, regs_per_multiprocessor=65536,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=limits.max_shared_bytes(arch()),
        shared_memory_per_multiprocessor=limits.max_shared_bytes(arch()) + 1024,
        clock_rate=CLOCK_KHZ, memory_clock_rate=MEMORY_CLOCK_KHZ,
        memory_bus_width=MEMORY_BUS_BITS, uuid=uuid.UUID(int=0), pci_bus_id=0, pci_device_id=0,
        pci_domain_id=0, is_integrated=0, is_multi_gpu_board=0, gcnArchName=arch(),
    )  # fmt: skip


def attribute(which: str) -> int:
    """Return a device attribute, or 0 for an unknown attribute, as for a feature that a GPU lacks.
    which: the last part of the attribute's name, in capitals and without underscores."""
    p = properties()
    known = {name.replace("_", "").upper(): value for name, value in vars(p).items()}
    known |= {f"MAX{name}": value for name, value in known.items() if "SHAREDMEMORY" in name}
    known |= {f"MAXBLOCKDIM{axis}": n for axis, n in zip("XYZ", limits.MAX_BLOCK, strict=True)}
    known |= {f"MAXGRIDDIM{axis}": n for axis, n in zip("XYZ", limits.MAX_GRID, strict=True)}
    known |= {
        "COMPUTECAPABILITYMAJOR": p.major, "COMPUTECAPABILITYMINOR": p.minor,
        "MAXBLOCKSPERMULTIPROCESSOR": limits.BLOCKS_A_MULTIPROCESSOR,
        "RESERVEDSHAREDMEMORYPERBLOCK": 1024, "GLOBALMEMORYBUSWIDTH": MEMORY_BUS_BITS,
        "MAXREGISTERSPERBLOCK": 65536, "MAXREGISTERSPERMULTIPROCESSOR": 65536,
        "UNIFIEDADDRESSING": 1, "COOPERATIVELAUNCH": 1, "CLUSTERLAUNCH": int(p.major >= 9),
        "MEMORYPOOLSSUPPORTED": 1, "CONCURRENTKERNELS": 1, "ASYNCENGINECOUNT": 3,
        "TOTALCONSTANTMEMORY": 65536, "MAXPITCH": 2**31 - 1, "STREAMPRIORITIESSUPPORTED": 1,
        "GLOBALL1CACHESUPPORTED": 1, "LOCALL1CACHESUPPORTED": 1, "GPUOVERLAP": 1,
        "SINGLETODOUBLEPRECISIONPERFRATIO": 2,
    }  # fmt: skip
    return int(known.get(which, 0))

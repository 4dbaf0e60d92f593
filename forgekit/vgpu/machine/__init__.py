"""Run the blocks of a batch in lockstep, and wake waiting threads.

machine.py          the scheduler
groups.py           groups of threads that diverge and reconverge
barriers.py         barriers of a block and of a cluster
mbarriers.py        barrier objects in shared memory
async_operations.py  bulk copies, tensor copies and `st.async` in flight
tensor_boxes.py     the sources and targets of tensor copies
warpgroups.py       `wgmma` products in flight, and the accumulators that they will update
wait_queue.py       threads that sleep at mbarriers and cluster barriers
spinning.py         detection of threads that poll memory indefinitely
stuck.py            messages about a deadlock or an endless loop
printf.py           output of `cute.printf`
"""

from forgekit.vgpu.batch import pack_lanes
from forgekit.vgpu.launch_record import WARP
from forgekit.vgpu.machine.machine import Machine

__all__ = ["WARP", "Machine", "pack_lanes"]

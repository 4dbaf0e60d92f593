"""Wrong solutions to week1/cluster_sum."""

from forgekit.lessons.wrong import Wrong

ARRIVE, WAIT = "    cute.arch.cluster_arrive()\n", "    cute.arch.cluster_wait()\n"
ALL = "mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]"

GRID = "grid=(4, mX.shape[0], 1), block=(128, 1, 1), cluster=(4, 1, 1)"
BODY = """    for n in range(rank * 128 + tidx, mX.shape[1], 512):
        total += mX[row, n]
    total = cute.arch.warp_reduction(total, operator.add)
    if tidx % 32 == 0:
        sSum[tidx // 32] = total
    cute.arch.sync_threads()
    cute.arch.cluster_wait()
    if tidx == 0:
        total = sSum[0] + sSum[1] + sSum[2] + sSum[3]
        cute.arch.map_dsmem_ptr(sPart.iterator + rank, 0).store(total)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if rank == 0 and tidx == 0:
        mY[row] = sPart[0] + sPart[1] + sPart[2] + sPart[3]
"""

WRONG = (
    Wrong("not begun together", {ARRIVE + "    total = Float32": "    total = Float32",
                                 WAIT + "    if tidx == 0:": "    if tidx == 0:"},
          "only after both have started"),
    Wrong("to everyone's own", {"sPart.iterator + rank, 0)": "sPart.iterator + rank, rank)"},
          "reads shared memory, byte 20"),
    Wrong("the first share alone", {ALL: "mY[row] = sPart[0]"}, "as if one block's share"),
    Wrong("every block adds it all", {"range(rank * 128 + tidx, mX.shape[1], 512)":
                                      "range(tidx, mX.shape[1], 128)"}, "the whole row"),
    Wrong("no barrier of the block", {"    cute.arch.sync_threads()\n" + WAIT: WAIT},
          "Race in shared memory"),
    Wrong("adds in float16", {
        "total += mX[row, n]": "total = (total + mX[row, n]).to(cutlass.Float16).to(Float32)"},
        "float32, the result is wrong"),
    Wrong("a warp per row", {BODY: """    for n in range(tidx, mX.shape[1], 32):
        total += mX[row, n]
    total = cute.arch.warp_reduction(total, operator.add)
    if tidx == 0:
        mY[row] = total
""", "    cute.arch.cluster_arrive()\n    total = Float32": "    total = Float32", GRID: "grid=(1, mX.shape[0], 1), block=(32, 1, 1)"},
          "asks for 4 blocks per cluster"),
    Wrong("another barrier of the cluster", {"    if rank == 0 and": ARRIVE + WAIT + "    if rank == 0 and"},
          "at most 2 cluster barriers"),
    Wrong("atomics on the result", {
        ARRIVE + "    total = Float32": "    if rank == 0 and tidx == 0:\n        mY[row] = Float32(0.0)\n"
                                         + ARRIVE + "    total = Float32",
        BODY[BODY.index("        cute.arch.map_dsmem_ptr"):]:
            "        cute.arch.atomic_add(mY.iterator + row, total)\n"},
          "no atomics on global memory"),
    Wrong("no columns for two blocks", {"    for n in range(rank * 128 + tidx, mX.shape[1], 512):\n": "    width = mX.shape[1] if rank < 2 else 0\n"
          "    for n in range(rank * 128 + tidx, width, 256):\n"}, "2 of 4 blocks load elements of row 0"),
    Wrong("short rows for block 0", {"    for n in range(rank * 128 + tidx, mX.shape[1], 512):\n": """    first, step = rank * 128 + tidx, 512 if mX.shape[1] > 1024 else 128
    if mX.shape[1] <= 1024:
        first = tidx if rank == 0 else mX.shape[1]
    for n in range(first, mX.shape[1], step):
"""}, "1 of 4 blocks load"),
    Wrong("a relaxed arrival", {ARRIVE + WAIT: ARRIVE.replace("()", "_relaxed()") + WAIT}, "No synchronisation orders the two accesses"),
    Wrong("no cluster", {", cluster=(4, 1, 1)": ""}, "no launch passes `cluster=`"),
    Wrong("most columns for block 0", {"    for n in range(rank * 128 + tidx, mX.shape[1], 512):\n":
          "    few = mX.shape[1] // 16\n    end = mX.shape[1] - (3 - rank) * few\n"
          "    begin = end - few if rank > 0 else 0\n    for n in range(begin + tidx, end, 128):\n"},
          "share the columns evenly"),
    Wrong("rank 0 takes two fifths", {"    for n in range(rank * 128 + tidx, mX.shape[1], 512):": """    fifth = mX.shape[1] // 5
    start = cutlass.Int32(0) if rank == 0 else fifth * (rank + 1)
    end = fifth * (rank + 2) if rank < 3 else mX.shape[1]
    for n in range(start + tidx, end, 128):"""}, "they share the columns evenly"),
    Wrong("rows of at most 512 for block 0", {"    for n in range(rank * 128 + tidx, mX.shape[1], 512):\n": """    first, step = rank * 128 + tidx, 512
    if mX.shape[1] <= 512:
        step = 128
        first = tidx if rank == 0 else mX.shape[1]
    for n in range(first, mX.shape[1], step):
"""}, "With m = 2, n = 505, float32, 1 of 4 blocks"),
)  # fmt: skip

EQUIVALENT = {"line 17: no predicate": "all threads of a block send the same sum to the same place"}

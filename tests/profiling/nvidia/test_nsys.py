"""nsys's command line and what `nsys stats` prints; the sample is in the form of its manual."""

from __future__ import annotations

from forgekit.profiling.nvidia import nsys
from tests.profiling.nvidia.conftest import SAMPLES

TEXT = (SAMPLES / "nsys_stats.txt").read_text()


def test_tables_are_known_by_their_columns_and_sorted():
    found = nsys.summaries(TEXT)
    assert {name: len(rows) for name, rows in found.items()} == {
        "kernels": 3,
        "api": 2,
        "memory": 0,
    }
    naive = found["kernels"][0]  # the second in the text
    assert naive["function"] == "naive_kernel"
    assert list(naive.values())[2:] == [4, 71360, 17744, 58.0]
    assert "FillFunctor<float>, std::array" in found["kernels"][2]["name"]  # commas in quotes
    assert [row["name"] for row in found["api"]] == ["cudaMalloc", "cudaLaunchKernelExC"]


def test_copies():
    text = "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Operation\n"
    text += "60.0,4000,2,2000.0,2000.0,[CUDA memcpy Device-to-Host]\n"
    [copy] = nsys.summaries(text)["memory"]
    assert (copy["name"], copy["count"], copy["total_ns"]) == (
        "[CUDA memcpy Device-to-Host]",
        2,
        4000,
    )


def test_text():
    text = nsys.as_tables(nsys.summaries(TEXT))
    assert "tile_kernel                                             4  37.7 µs  9.44 µs" in text
    assert "cudaLaunchKernelExC       10  1.04 ms  4.44 µs   0.8" in text
    assert text.endswith("Nothing was copied.")
    assert max(map(len, text.splitlines())) <= 100


def test_text_is_short():
    rows = "".join(f"1.0,{i},1,{i},{i},call{i}\n" for i in range(1, 21))
    text = nsys.as_tables(
        nsys.summaries("Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Name\n" + rows)
    )
    assert "call6" in text and "call5" not in text and "and 5 more" in text
    assert text.startswith("No kernel ran on the GPU.")

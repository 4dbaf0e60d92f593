"""Test output of `nsys stats` that the sample does not contain; test_commands.py tests the sample's
tables."""

from __future__ import annotations

from forgekit.profiling.nvidia import nsys


def test_copies():
    text = "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Operation\n"
    text += "60.0,4000,2,2000.0,2000.0,[CUDA memcpy Device-to-Host]\n"
    [copy] = nsys.summaries(text)["memory"]
    assert copy["name"] == "[CUDA memcpy Device-to-Host]"
    assert (copy["count"], copy["total_ns"]) == (2, 4000)


def test_text_is_short():
    rows = "".join(f"1.0,{i},1,{i},{i},call{i}\n" for i in range(1, 21))
    text = nsys.as_tables(
        nsys.summaries("Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Name\n" + rows)
    )
    assert "call6" in text and "call5" not in text and "and 5 more" in text
    assert text.startswith("No kernel ran on the GPU.")

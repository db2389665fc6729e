"""What 22 public reports asked, each as a command: its numbers as given, and the sentence that was needed.

The reports are tests/data/user_reports.yaml. Models and nodes that a report does not name are chosen; numbers are not.
"""

from pathlib import Path

import pytest
import yaml

REPORTS = yaml.safe_load((Path(__file__).parents[1] / "data" / "user_reports.yaml").read_text())["reports"]

# the report's kind and its issue: the options, and what must be said
CASES: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("host memory sizing", "an unnamed public file"): (
        "--model llama3.1-70b --engine sglang --tp 8 --host-pool 32GB --host-memory 256GB",
        # 8 ranks x 2^35 B, each 32 GB rounded up to a power of two
        ("32 GB (29.8 GiB) is of each of 8 ranks: 256 GB", "275 GB (256 GiB) used", "Do not build"),
    ),
    ("look-up latency", "LMCache/LMCache#891"): (
        "--model llama3.1-8b --tp 1 --tier remote --lookup 655ms --with-offload 1204ms --without-offload 16457ms",
        ("with 655 ms of look-up a fetch, fetching wins only from", "14x as fast"),  # 16,457 / 1,204 = 13.7
    ),
    ("GPU memory", "sgl-project/sglang#5372"): (
        "--model llama3.1-8b --tp 1 --engine sglang --memory-utilization 0.95 --host-pool 2x",
        ("staging buffers of host transfers, small pages needing more", "lower it before"),
    ),
    ("pinning", "LMCache/LMCache#1063"): (
        "--model llama3.1-8b --tp 1 --engine lmcache --host-pool 5GB --memlock 2GB",
        ("5 GB (4.66 GiB) of pinned memory are needed and the locked-memory limit is 2 GB", "driver and WSL"),
    ),
    ("offload made it worse", "LMCache/LMCache#928"): (
        "--model mistral-7b-v0.3 --tp 1",
        ("compare the working set with the pool of HBM first", "offloading adds nothing"),
    ),
    ("tier sizing", "ai-dynamo/dynamo#6506"): (
        "--model llama3.1-8b --tp 1 --pool 100GB --tier-size dram=100GB",
        ("dram is no larger than HBM", "adds only what it has beyond that, here nothing", "Do not build"),
    ),
    ("tier interaction", "an unnamed public file"): (
        # 2.8 GB in 78 s are 35.9 MB/s; fill : drain is given as 130 : 1
        "--model qwen3-32b --tp 1 --bandwidth 11.8GB/s --fetched 2.8GB --fetch-time 78s --drain 17MB/s",
        ("effective 35.9 MB/s", "as fast as it drains, and blocks that wait stay pinned", "look at the software first"),
    ),
    ("wrong model", "Tencent/hpn#19"): (
        "--model llama3.1-8b --tp 1 --seq 131072 --hit-rate 0.3 --recompute 178ms",
        # 0.3 x 131,072 / 0.178 s
        ("39,322 tokens are 220,908 tok/s", "of the peak of 1 GPU", "don't believe it, measure the prefill rate"),
    ),
    ("disk slower than prefill", "LMCache/LMCache#81"): (
        "--model mistral-7b-v0.3 --tp 1 --tier nvme --seq 16000",
        ("2.1 GB (1.95 GiB) are fetched in 300 ms", "break-even is", "Do not build"),  # 2.097 GB / 7 GB/s
    ),
    ("remote slower", "kvcache-ai/Mooncake#1243"): (
        "--model qwen3-235b-a22b --hardware h20-pcie5 --tp 8 --seq 64000 --concurrency 20 --tier infiniband-400g "
        "--bandwidth 800Gb/s --with-offload 8.6s --without-offload 5.7s",
        ("1.5x as slow", "246 GB (493 GB where every rank", "123 ms to 246 ms alone, 2.46 s to 4.93 s until the last"),
    ),
    ("metrics", "vllm-project/vllm#51615 / #53902"): (
        "--model llama3.1-8b --tp 1 --tier-size dram=60GB",
        ("dram holds", "457,764 tokens"),  # 60e9 / 131,072
    ),
    ("offload gave no gain", "LMCache/LMCache#1061"): (
        "--model qwen3-4b --tp 1 --memory-utilization 0.8 --tier-size dram=393.2GB --tier-size nvme=600GB "
        "--hit-rate 1%",
        ("dram holds 2.67 M tokens", "the hit rate is set by how often prompts come again, not by the tier"),
    ),
    ("offload made it worse", "LMCache/LMCache#1326"): (
        "--model llama3.1-8b --tp 1 --engine lmcache --host-pool 60GB --hit-rate 0 --seq 256",
        ("set by how often prompts come again", "is pure overhead", "store traffic at the full prefill rate"),
    ),
    ("queueing", "sgl-project/sglang#32724"): (
        "--model llama3.1-8b --tp 1 --engine sglang --fetch-time 3s",
        ("look at the software first", "look-up, admission and who shares the tier"),
    ),
    ("TTFT rises with hit rate", "sgl-project/sglang#33984"): (
        "--model llama3.1-70b --tier nvme --concurrency 20 "
        "--hit-rate 0,0.4999,0.6666,0.7499,0.7998,0.8332,0.857,0.8748,0.8887 "
        "--ttft 2.55s,3.07s,3.46s,3.85s,4.26s,4.5s,5.18s,5.1s,6.13s",
        ("rose from 0.0 to 88.9 %", "from 2.55 s to 6.13 s: a hit rate alone is no success", "bytes fetched a second"),
    ),
    ("over-provision", "club-3090 docs/DUAL_CARD + #838"): (
        "--model qwen3.5-27b --tp 2 --pool 968145 --max-model-len 262144 --max-num-seqs 2",
        ("running requests reach 524,288 tokens of the pool's 968,145 tokens: 443,857 tokens",),
    ),
    ("hit rate did not improve", "LMCache/LMCache#1741"): (
        # 50 x 10,000 x 327,680 B = 163.8 GB, of two ranks; no shipped node has two GH200
        "--model llama3.3-70b --tp 2 --engine lmcache --host-pool 60GB --working-set 50x10000 --reuse cyclic "
        "--seq 10000 --with-offload 2.82s --without-offload 2.82s",
        ("in a cycle of 500,000 tokens", "so about 0 hits",
         "it needs more than 164 GB (153 GiB), 81.9 GB (76.3 GiB) a rank",
         "offloading changes nothing"),
    ),
    ("L3 written, never read", "sgl-project/sglang#12092"): (
        "--model llama3.1-8b --tp 1 --engine sglang --tier remote --seq 200 --prefetch-threshold 256",
        ("prefixes of 200 tokens are below the engine's prefetch threshold of 256 tokens: they are written and never",),
    ),
    ("wrong calculator", "redhat-performance/configiq#112"): (
        "--model gemma4-31b --hardware h200-pcie5 --tp 1 --bytes-per-token 108.2KiB",
        ("are fixed a request and 81,920 B grow with each token", "which tokens are counted"),  # 10 x 2 x 4 x 512 x 2
    ),
    ("remote bandwidth", "LMCache/LMCache#1238"): (
        "--model llama3.1-8b --tp 1 --tier remote --value-size 33554432B --bandwidth 16Gb/s --seq 20000",
        ("is 256 tokens", "only a prefill below 15,259 tok/s", "2.62 GB"),  # 2e9 / 131,072
    ),
    ("sizing question", "vllm-project/vllm#22291"): (
        "--model qwen2.5-7b --tp 1 --seq 3072 --bytes-per-token 1.53MB",
        ("57,344 B a token by the profile", "hidden size instead of KV heads (7x) and 8 bits taken for 8 bytes (4x)",
         "176 MB (168 MiB)"),  # 0.164 GiB
    ),
    ("does offload pay?", "NVIDIA/TensorRT-LLM#3130"): (
        "--model llama3.1-8b --hardware gh200-nvlink-c2c --tp 1",
        ("one link of each class", "pcie4", "pcie5", "c2c-480", "NVLink-C2C"),
    ),
}  # fmt: skip


def test_every_report_is_asked():
    assert {(each["kind"], each["repo_issue"]) for each in REPORTS} == set(CASES)


@pytest.mark.parametrize("report", CASES, ids=" ".join)
def test_what_people_needed_to_be_told(report, run):
    options, sentences = CASES[report]
    ran = run("checklist", *options.split())
    assert (ran.code, ran.err) == (0, "")
    missing = [each for each in sentences if each not in " ".join(ran.out.split())]
    assert missing == []

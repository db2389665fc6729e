"""Asking `margin` as a library, and finding one path of the answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvcalc
from kvcalc.answers.margin_result import Margin, PathAnswer

SOURCES = "sources:\n  made: {title: Made for a test, address: tests, basis: measured, checked: 2026-11-29}\n"


@pytest.fixture(scope="session")
def ask() -> Callable[..., Margin]:
    """The chapter's question by default: Llama-3-70B on the default node, 20,000 tokens; options by name."""

    def question(
        model: str = "llama3-70b", hardware: str = "h100-pcie5", tokens: int = 20_000, **options: Any
    ) -> Margin:
        return kvcalc.margin(model, hardware, tokens, kvcalc.Options(**options))

    return question


@pytest.fixture(scope="session")
def path_of() -> Callable[..., PathAnswer]:
    """The path whose tier begins with a word, over so many links."""

    def find(result: Margin, tier: str, links: int = 1) -> PathAnswer:
        (found,) = [path for path in result.paths if path.tier.startswith(tier) and path.links == links]
        return found

    return find


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., str]:
    """A node file with one remote tier and, if given, one measured prefill curve; its path."""

    def write(accelerator: str, gpus: int, bandwidth: str, latency: str, prefill: str = "") -> str:
        (tmp_path / "peer.yaml").write_text(
            "kind: tier\nname: peer\ntitle: Peer\nmedium: network\npath: RDMA\nlinks: per-node\n"
            f"read: {{bandwidth: '{bandwidth} [made]', latency: '{latency} [made]'}}\n{SOURCES}"
        )
        node = tmp_path / "node.yaml"
        curve = f"prefill:\n  - {prefill}\n" if prefill else ""
        title = f"kind: node\nname: made\ntitle: Made\naccelerator: {accelerator}\ngpus: {gpus}\n"
        used = SOURCES if prefill else "host_memory: 1 TB [made]\n" + SOURCES
        node.write_text(f"{title}tiers: [{{tier: peer.yaml}}]\n{curve}{used}")
        return str(node)

    return write

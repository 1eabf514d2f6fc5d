"""Texts of the kernel in tests/data/kernel: what they are is told in tests/golden/agents/test_texts.py."""

from pathlib import Path

KERNEL = Path(__file__).parents[1] / "data" / "kernel"


def read_kernel_text(name: str) -> str:
    return (KERNEL / name).read_text(encoding="utf-8")

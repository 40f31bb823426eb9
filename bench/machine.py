"""What it ran on."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def describe_machine() -> dict[str, str]:
    """Return processor, number of cores, system and Python."""
    return {
        "processor": _find_processor(),
        "cores": str(_count_cores()),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def read_load() -> str:
    """Return the load average over a minute: what else the machine was doing."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _count_cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _find_processor() -> str:
    file = Path("/proc/cpuinfo")
    if file.exists():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()

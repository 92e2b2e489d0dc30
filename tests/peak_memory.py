"""The most memory that a few lines of Python need, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# the peak of a process is kept by the kernel; 5 sets it back to what is in use now
_MEASURED = """
{before}

def _peak():
    status = open("/proc/self/status", encoding="ascii").read()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))

open("/proc/self/clear_refs", "w").write("5")
_start = _peak()
{measured}
print("peak", _peak() - _start)
"""


def peak_megabytes(before, measured):
    """Run statements, then others; return by how much memory in use grew at most during the others."""
    code = _MEASURED.format(before=before, measured=measured)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.rsplit("peak", 1)[1]) / 1024

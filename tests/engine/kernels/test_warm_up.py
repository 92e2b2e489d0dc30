"""What a run loads: the kernels that its job needs, all of them before the search, and no others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.places import ROOT

SCRIPT = """
import json
import sys
import pyarrow as pa
import engine
from engine.kernels.warm_up import Part, warm_up

job, call = json.loads(sys.argv[1]), sys.argv[2]

def counted():
    modules = [module for name, module in sys.modules.items() if name.startswith("engine.kernels.")]
    kernels = {kernel for module in modules for kernel in vars(module).values() if hasattr(kernel, "signatures")}
    return {f"{k.__module__}.{k.__name__}": len(k.signatures) for k in kernels if k.signatures}

ages = [str(20 + n % 7) for n in range(280)]
table = pa.table({"age": ages, "sex": [str(n // 3 % 2) for n in range(280)], "who": [f"p{n // 2}" for n in range(280)],
                  "disease": ["abc"[n // 2 % 3] for n in range(280)]})
warm_up(*map(Part, sys.argv[3:]))
before = counted()
getattr(engine, call)(job, table)
print(json.dumps([before, counted()]))
"""
FLAT = {"builder": "flat"}
FIVES = {"builder": "interval", "widths": [5], "lower": 0, "upper": 99}
JOB = {
    "name": "kernels",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": FIVES},
        "sex": {"role": "quasi-identifying", "hierarchy": FLAT},
        "who": {"role": "identifying"},
        "disease": {"role": "sensitive", "hierarchy": FLAT},
    },
    "privacy": [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "variant": "recursive", "attribute": "disease", "c": 4, "l": 2},
        {"model": "t-closeness", "distance": "ordered", "attribute": "disease", "t": 0.6},
        {"model": "t-closeness", "distance": "hierarchical", "attribute": "disease", "t": 0.6},
    ],
    "suppression_limit": 0.5,
}
COUNTING = {"subject": "who"}
RECORDS = {"unit": "record"}


def kernels_of(call, parts, **changes):
    """Give how many types each kernel was compiled for after warming up, and after the call."""
    command = [sys.executable, "-c", SCRIPT, json.dumps({**JOB, **changes}), call, *parts]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("call", "parts", "changes"),
    [
        ("run", ["search"], RECORDS),
        pytest.param("run", ["search", "persons"], COUNTING, marks=pytest.mark.thorough),
        pytest.param(
            "run",
            ["search", "persons"],
            {**COUNTING, "knows": "all-rows", "privacy": JOB["privacy"][:1]},
            marks=pytest.mark.thorough,
        ),
        ("run", ["search", "persons"], {**COUNTING, "knows": {"rows": 2}, "privacy": JOB["privacy"][:1]}),
        ("run", ["search", "recoding"], {**RECORDS, "transformation": "local-recoding", "privacy": JOB["privacy"][:1]}),
    ],
    ids=["records", "persons", "all-rows", "rows", "local-recoding"],
)
def test_a_run_needs_no_kernel_that_was_not_warmed_up(call, parts, changes):
    before, after = kernels_of(call, parts, **changes)
    assert before == after
    assert not [name for name in after if "frontier" in name]
    assert any("persons" in name or "pictures" in name for name in after) == ("persons" in parts)


def test_a_frontier_compiles_its_own():
    before, after = kernels_of("frontier", ["frontier"], **RECORDS, frontier={"policies": 20})
    assert {name for name in after if "frontier" in name} == {name for name in before if "frontier" in name} != set()

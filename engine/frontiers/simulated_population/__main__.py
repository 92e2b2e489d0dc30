"""Write a simulated population: `python -m engine.frontiers.simulated_population --shape urban --seed 1 OUT.csv`."""

from __future__ import annotations

import argparse
import sys

from engine.errors import EngineError
from engine.frontiers.simulated_population.generator import write_population
from engine.frontiers.simulated_population.shapes import SHAPES


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status is that of the error, if there is one."""
    parser = argparse.ArgumentParser(
        prog="python -m engine.frontiers.simulated_population", description="Write a simulated population."
    )
    parser.add_argument("out", help="file to write, .csv or .parquet")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="urban", help="the state that it resembles")
    parser.add_argument("--persons", type=int, default=None, help="number of people (default: that of the shape)")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    try:
        write_population(chosen.out, chosen.shape, chosen.persons, chosen.seed)
    except EngineError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The experiments of Xia et al. 2015 on simulated states, what our own search adds, and what a search costs.

    python benchmarks/bench_frontier.py [--full] [--runs N]

Xia, Heatherly, Ding, Li, Malin, R-U policy frontiers for health data de-identification. JAMIA 22:1029, 2015. In: the
adult table in `../shared/data`, and populations simulated here. Out: tables in Markdown, each figure of the paper
beside ours. The populations are not the paper's, so that figures agree in size and order at most.

Without `--full` there are fewer runs and fewer states. Areas are shares of the unit square of normalized risk and
utility loss; lower is better.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 (the project root must be on the path)
from frontier_states import ADULT, State, adult_of, sample_of  # noqa: E402

from engine.frontiers.measures.along_paths import Measures, Point  # noqa: E402
from engine.frontiers.search.search import Found, search  # noqa: E402
from engine.frontiers.simulated_population.shapes import STATES  # noqa: E402
from engine.job.frontier_settings import FrontierSettings  # noqa: E402
from engine.kernels.warm_up import warm_up  # noqa: E402

KS = (5, 10)
POLICIES = 20_000
PAIRINGS = [
    (start, step) for start in ("random-path", "full-domain") for step in ("random-sublattice", "sublattice-chain")
]
BEST = ("full-domain", "sublattice-chain")
GREEDY = ("greedy-path", "sublattice-chain")
STEPS = (1000, 2000, 3000, 4000, 5000)

FIGURE_4 = dict(zip(PAIRINGS, (0.172, 0.195, 0.127, 0.124), strict=True))
"""Area of adult-TN after 1000 policies, section Performance of SHS strategies."""
FIGURE_4_END = dict(zip(PAIRINGS, (0.152, 0.171, 0.138, 0.127), strict=True))
"""Area of the North Carolina voters after 5000 policies; the text gives none of adult-TN."""

TABLES: Mapping[str, Sequence[float]] = {
    "HI": (4545, 28, 25, 0.01, 0.36, 0.28, 0.057, 2.6e-3, 1.8e-3, 0.15, 0.18, 0.054, 0.050),
    "IL": (3999, 28, 21, 0.04, 0, 0, 0.031, 2.4e-4, 4.0e-5, 0.43, 0.47, 0.035, 0.018),
    "MA": (3510, 29, 23, 0.01, 0, 0, 0.032, 3.8e-4, 9.0e-5, 0.36, 0.42, 0.058, 0.062),
    "MN": (5655, 34, 25, 0.03, 0.09, 0, 0.045, 5.2e-4, 2.1e-4, 0.36, 0.42, 0.020, 0.049),
    "NY": (4374, 27, 20, 0.001, 0, 0, 0.027, 9.0e-5, 4.0e-5, 0.48, 0.50, 0.034, 0.034),
    "OH": (3257, 39, 27, 0.06, 0, 0, 0.037, 2.9e-4, 7.0e-5, 0.45, 0.51, -0.003, 0.005),
    "PA": (4161, 29, 23, 0.003, 0, 0, 0.041, 2.9e-4, 7.0e-5, 0.49, 0.52, 0.018, 0.019),
    "TN": (7766, 39, 27, 0.01, 0.13, 0, 0.037, 4.3e-4, 1.9e-4, 0.36, 0.43, 0.018, 0.050),
    "WA": (5296, 33, 35, 0.01, 0.12, 0, 0.033, 4.1e-4, 2.6e-4, 0.35, 0.41, 0.040, 0.060),
    "WI": (5147, 42, 34, 0.01, 0.10, 0, 0.039, 4.6e-4, 2.0e-4, 0.36, 0.43, 0.026, 0.050),
}
"""By state: Table 1 (policies), 2 (share that dominates Safe Harbor), 3 (most risk, least loss without SHS's 0), 4."""


def found_by(measures: Measures, pairing: tuple[str, str], policies: int, seed: int = 1) -> Found:
    """Search with an initialization and an improvement."""
    initialization, improvement = pairing
    return search(
        measures,
        FrontierSettings(initialization=initialization, improvement=improvement, policies=policies, seed=seed),
    )


def area_at(found: Found, policies: int) -> float:
    """Return the area after so many policies, or after the last before them."""
    return [area for visited, area in found.area_after if visited <= policies][-1]


def spread(values: Sequence[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.4f} ± {deviation:.4f}"


def print_figure_4(title: str, measures: Measures, runs: int, paper: Mapping[tuple[str, str], float]) -> None:
    """Print the areas after 1000 to 5000 policies for each pairing, and check which of the paper's are best."""
    print(f"\n### Area by policies visited: {title}, {runs} runs (Figure 4)\n")
    print(f"| initialization | improvement | {' | '.join(f'{step:,}' for step in STEPS)} | s per run | paper |")
    print(f"| --- | --- |{' ---: |' * (len(STEPS) + 2)}")
    areas: dict[tuple[str, str], dict[int, list[float]]] = {}
    for pairing in (*PAIRINGS, GREEDY):
        results = [found_by(measures, pairing, STEPS[-1], seed) for seed in range(1, runs + 1)]
        areas[pairing] = {step: [area_at(found, step) for found in results] for step in STEPS}
        cells = " | ".join(spread(areas[pairing][step]) for step in STEPS)
        seconds = statistics.mean(found.seconds for found in results)
        print(f"| {' | '.join(pairing)} | {cells} | {seconds:.2f} | {paper.get(pairing, '')} |", flush=True)
    first, last = ({p: statistics.mean(areas[p][step]) for p in PAIRINGS} for step in (STEPS[0], STEPS[-1]))
    for improvement in ("random-sublattice", "sublattice-chain"):
        own, other = first["full-domain", improvement], first["random-path", improvement]
        assert own < other, "FullDom must beat RandPath at initialization"
    least = min(PAIRINGS, key=lambda pairing: last[pairing])
    assert least == BEST, "the best pairing must end with the least area"
    others = min(last[pairing] for pairing in PAIRINGS if pairing != least)
    print(f"\nOf the paper's pairings {' + '.join(least)} ends with the least area, {others - last[least]:.4f} less.")


def share_dominating(points: Sequence[tuple[float, float]], rule: Point) -> float:
    """Return the share of points with no more risk and no more loss than a policy, and less of one of them."""
    dominating = [p for p in points if p[0] <= rule.risk and p[1] <= rule.utility_loss and p != tuple(rule)]
    return len(dominating) / len(points) if points else 0.0


def area_below(points: Sequence[tuple[float, float]], first: float, last: float) -> float:
    """Integrate the least loss at no more than each risk over risks from `first` to `last`; points by risk."""
    edges = [first, *(risk for risk, _ in points if first < risk < last), last]
    risks = [risk for risk, _ in points]
    heights = [points[np.searchsorted(risks, edge, "right") - 1][1] for edge in edges[:-1]]
    return float(np.diff(edges) @ heights)


def improvement_rate(frontier: Sequence[tuple[float, float]], anonymous: Sequence[tuple[float, float]]) -> float:
    """Return how much larger the area under the k-anonymity frontier is, over its own range of risks (Table 4)."""
    first, last = max(frontier[0][0], anonymous[0][0]), anonymous[-1][0]
    own = area_below(frontier, first, last)
    return area_below(anonymous, first, last) / own - 1 if own else float("nan")


def print_states(states: Sequence[str]) -> None:
    """Print Tables 1 to 4, and the policies that the greedy path needs for the area of the best pairing."""
    rows, races = [], []
    for name in states:
        state = adult_of(name)
        measures = state.measures()
        found = found_by(measures, BEST, POLICIES)
        rows.append((name, state_figures(state, measures, found)))
        races.append((state.name, found, found_by(measures, GREEDY, POLICIES // 10)))
    sample = sample_of("TN", 100_000)
    measures = sample.measures()
    races.append((sample.name, found_by(measures, BEST, POLICIES), found_by(measures, GREEDY, POLICIES // 10)))
    heads = ("policies on the frontier", "share that dominates Safe Harbor", "most risk", "least loss", "improvement")
    columns = (("SHS", "k=5", "k=10"),) * 3 + (("SHS", "k=5", "k=10"), ("k=5", "k=10"))
    papers = {name: (*row[:9], 0, *row[9:]) for name, row in TABLES.items()}
    start = 0
    for number, (head, own) in enumerate(zip(heads, columns, strict=True)):
        table = f"Table {(1, 2, 3, 3, 4)[number]}"
        print(f"\n### {table}: {head}, {POLICIES:,} policies\n")
        print(f"| state | {' | '.join(f'{column} | paper' for column in own)} |")
        print(f"| --- |{' ---: | ---: |' * len(own)}")
        for name, figures in rows:
            pairs = zip(figures, papers[name], strict=True)
            cells = [f"{mine:,.4g} | {paper:,.4g}" for mine, paper in pairs][start : start + len(own)]
            print(f"| {name} | {' | '.join(cells)} |")
        start += len(own)
    print_greedy(races)


def state_figures(state: State, measures: Measures, found: Found) -> list[float]:
    """Return the figures of Tables 1 to 4 in the order of `TABLES`, with the least loss of SHS."""
    rule = state.safe_harbor()
    anonymous = state.k_anonymity(measures, KS)
    frontier = list(zip(found.risk.tolist(), found.utility_loss.tolist(), strict=True))
    points = [frontier, *([(one.risk, one.utility_loss) for one in anonymous[k]] for k in KS)]
    assert share_dominating(frontier, rule) > 0, f"{state.name}: no policy dominates Safe Harbor"
    return [
        *(len(own) for own in points),
        *(share_dominating(own, rule) for own in points),
        *(own[-1][0] for own in points),
        *(own[-1][1] / measures.highest_loss for own in points),
        *(improvement_rate(frontier, own) for own in points[1:]),
    ]


def print_suppression(name: str) -> None:
    """Print what suppression would change of the k-anonymity frontiers, where the paper does not say."""
    state = adult_of(name)
    measures, paper = state.measures(), TABLES[name]
    print(f"\n### k-anonymity frontiers of {name} by suppression limit\n")
    print(f"| limit | {' | '.join(f'k={k}: policies | most risk | least loss' for k in KS)} |")
    print(f"| ---: |{' ---: |' * (3 * len(KS))}")
    for limit in (0.0, 0.001, 0.01, 0.05, 0.1):
        found = state.k_anonymity(measures, KS, limit)
        ends = [(len(found[k]), found[k][-1].risk, found[k][-1].utility_loss / measures.highest_loss) for k in KS]
        cells = " | ".join(f"{number} | {risk:.1e} | {loss:.2f}" for number, risk, loss in ends)
        print(f"| {limit:.1%} | {cells} |")
    ends = [(paper[1 + i], paper[7 + i], paper[9 + i]) for i in range(len(KS))]
    print(f"| paper | {' | '.join(f'{number} | {risk:.1e} | {loss:.2f}' for number, risk, loss in ends)} |", flush=True)


def print_greedy(races: Sequence[tuple[str, Found, Found]]) -> None:
    print(f"\n### Policies until the area of {' + '.join(BEST)} after {POLICIES:,}\n")
    print(f"| table | its area | {GREEDY[0]}: policies needed | area after {POLICIES // 10:,} |")
    print("| --- | ---: | ---: | ---: |")
    missed = 0
    for name, best, greedy in races:
        needed = [visited for visited, area in greedy.area_after if area <= best.area]
        shown = f"{needed[0]:,}" if needed else f"more than {POLICIES // 10:,}"
        print(f"| {name} | {best.area:.4f} | {shown} | {greedy.area:.4f} |")
        missed += not needed
    assert missed <= len(races) // 10, "the greedy path must reach nearly every area with a tenth of the policies"


def assert_valid(state: State, measures: Measures, found: Found) -> None:
    """Check a result: its figures are those of its policies from scratch, and none of them dominates another."""
    assert found.visited <= POLICIES
    assert (np.diff(found.risk) > 0).all()
    assert (np.diff(found.utility_loss) < 0).all()
    for index in np.linspace(0, found.risk.size - 1, 50).astype(int):
        point = measures.at(found.bits[index])
        assert np.allclose(point, (found.risk[index], found.utility_loss[index]), rtol=1e-9, atol=1e-12)
    assert (state.space.closed(found.bits[-1]) == found.bits[-1]).all()


def scale() -> dict[str, float]:
    """Measure what the largest search costs, in a process of its own."""
    warm_up()
    state = sample_of("TN", 100_000)
    measures = state.measures()
    assert state.space.size >= 700
    assert state.table.records == 100_000
    found = found_by(measures, BEST, POLICIES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert_valid(state, measures, found)
    return {
        "bits": state.space.size,
        "rows": state.table.counts.size,
        "seconds": found.seconds,
        "mib": peak,
        "policies": found.risk.size,
        "area": found.area,
    }


def print_scale() -> None:
    command = [sys.executable, __file__, "--scale"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (this very file)
    found = json.loads(ran.stdout.splitlines()[-1])
    print(f"\n### {POLICIES:,} policies on 100,000 records of simulated TN\n")
    print("| lattice | distinct tuples | seconds | under 60 s | peak MiB | under 1 GiB | policies | area |")
    print("| ---: | ---: | ---: | --- | ---: | --- | ---: | ---: |")
    quick, small = ("yes" if met else "NO" for met in (found["seconds"] < 60, found["mib"] < 1024))
    print(
        f"| 2^{found['bits']} | {found['rows']:,} | {found['seconds']:.1f} | {quick} | {found['mib']:.0f} | {small} "
        f"| {found['policies']:,} | {found['area']:.4f} |",
        flush=True,
    )


def print_growth(*, full: bool) -> None:
    print(f"\n### Growth, {' + '.join(BEST)} on samples of simulated TN\n")
    print("| records | ZIP codes | lattice | distinct tuples | policies | seconds | ms per policy |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    records = (10_000, 30_000, 100_000, *((300_000, 1_000_000) if full else ()))
    cases = [(number, 1, 5_000) for number in records]
    cases += [(30_000, 1, number) for number in (2_500, 10_000, 20_000)]
    cases += [(30_000, joined, 5_000) for joined in (8, 4, 2)]
    for number, joined, policies in cases:
        state = sample_of("TN", number, zips_joined=joined)
        found = found_by(state.measures(), BEST, policies)
        print(
            f"| {number:,} | {state.space.domains[0].size} | 2^{state.space.size} | {state.table.counts.size:,} "
            f"| {policies:,} | {found.seconds:.2f} | {1000 * found.seconds / found.visited:.2f} |",
            flush=True,
        )


def main() -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="20 runs and all ten states")
    parser.add_argument("--runs", type=int, help="searches of each pairing, instead of 3 and 2, or 20")
    parser.add_argument("--scale", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.scale:
        print(json.dumps(scale()))
        return 0
    if not ADULT.is_file():
        print(f"needs the adult table at {ADULT.relative_to(ROOT.parent)} beside the project")
        return 0
    warm_up()
    print_figure_4("adult-TN", adult_of("TN").measures(), chosen.runs or (20 if chosen.full else 3), FIGURE_4)
    sample = sample_of("TN", 100_000).measures()
    print_figure_4("100,000 people of simulated TN", sample, chosen.runs or (20 if chosen.full else 2), FIGURE_4_END)
    print_states(STATES if chosen.full else ("HI", "TN"))
    print_suppression("TN")
    print_scale()
    print_growth(full=chosen.full)
    return 0


if __name__ == "__main__":
    sys.exit(main())

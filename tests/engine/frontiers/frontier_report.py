"""A report of a frontier made by hand: a smooth trade-off of risk and utility, and policies that coarsen with it."""

from __future__ import annotations

from engine.frontiers.compare.shortlist import shortlist

AGES = range(17, 91)
RACES = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]


def runs(labels, width):
    """Cut labels into runs of a width."""
    labels = [str(label) for label in labels]
    parts = [labels[start : start + width] for start in range(0, len(labels), width)]
    return [{"value": part[0]} if len(part) == 1 else {"from": part[0], "to": part[-1]} for part in parts]


def policy(share):
    """Keep more apart the nearer `share` is to 1."""
    width = max(1, round((1 - share) * 30))
    races = [{"value": race} for race in RACES] if share > 0.4 else [{"node": "any race"}]
    return {
        "age": runs(AGES, width),
        "zip": runs(range(37010, 37250, 3), max(1, round((1 - share) ** 2 * 80))),
        "gender": [{"value": "female"}, {"value": "male"}] if share > 0.2 else [{"node": "any gender"}],
        "race": races,
    }


def entry(risk, loss, share=0.5, scale=0.08):
    return {
        "risk": scale * risk,
        "utility_loss": 2.4 * loss,
        "normalized_risk": risk,
        "normalized_utility_loss": loss,
        "policy": policy(share),
    }


def frontier_report(count=120, name="example", safe_harbor=True):
    """Make a report of `count` policies whose risk spans four decades."""
    shares = [place / max(1, count - 1) for place in range(count)]
    frontier = [entry(10 ** (-4 * (1 - share)), (1 - share) ** 1.7, share) for share in shares]
    harbor = entry(0.011, 0.62, 0.55) if safe_harbor else None
    return {
        "name": name,
        "rows": 30_162,
        "frontier": frontier,
        "area": 0.0831,
        "area_after": [[1, 1.0], [20_000, 0.0831]],
        "visited": 20_000,
        "seconds": 21.7,
        "safe_harbor": harbor,
        "current": entry(0.05, 0.55, 0.3),
        "k_anonymity": {
            "10": [entry(0.004 * 3**place, 0.93 - 0.12 * place, 0.1 + 0.1 * place) for place in range(3)],
            "5": [entry(0.006 * 3**place, 0.83 - 0.12 * place, 0.1 + 0.1 * place) for place in range(4)],
        },
        "shortlist": shortlist(frontier, harbor),
        "settings": {"risk": "marketer", "utility": "kl-divergence", "policies": 20_000},
    }

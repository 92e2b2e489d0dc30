"""The risks and utility losses of frontiers: their names in a job file, and the words by which charts call them.

How each is computed is in `engine/frontiers/measures`, which imports array packages; schedulers read job files without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple


class Words(NamedTuple):
    """What charts write beside the axis of a measure: in full, and where the meaning stands elsewhere."""

    axis: str
    short_axis: str


RISKS: Mapping[str, Words] = {
    "marketer": Words("Marketer risk (expected share of records re-identified)", "Marketer risk"),
    "prosecutor": Words("Prosecutor risk (of the record most at risk)", "Prosecutor risk"),
    "journalist": Words("Journalist risk (of the record most at risk)", "Journalist risk"),
}
UTILITIES: Mapping[str, Words] = {
    "kl-divergence": Words("Utility loss (Kullback-Leibler divergence, nats)", "Utility loss (nats)"),
    "loss": Words("Utility loss (0: all details kept, 1: none)", "Utility loss (0 to 1)"),
}
USUAL_RISK, USUAL_UTILITY = "marketer", "kl-divergence"
"""The measures of a job that names none."""

if TYPE_CHECKING:
    RiskName = str
    UtilityName = str
else:
    RiskName = Literal[tuple(RISKS)]
    UtilityName = Literal[tuple(UTILITIES)]

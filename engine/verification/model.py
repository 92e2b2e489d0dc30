"""What the recount of a privacy model is: a value that judges an output, and declares what the verification must know.

In: the records of an output and the parameters of a model. Out: a finding with its figure, the bound and the sense of
the comparison, from which the margin follows. Nothing else of the verification knows a model by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.verification.finding import Finding
from engine.verification.records.records import Records


@dataclass(frozen=True, kw_only=True)
class Recount:
    """The recount of one privacy model, or of one form of it.

    Attributes
    ----------
    model : str
        Its name in the job file.
    judge : callable
        Recounts the model, whose parameters are given as a mapping. The finding gives `observed`, `required` and
        `sense`, also where nothing is observed; of a model with two bounds those of the nearer one.
    variants : tuple of str
        The values of the parameter `variant` that it recounts; none for a model without that parameter.
    counts_dropped : bool
        Whether the figure depends on how many records the run suppressed: where they are left out of the output, only
        the report tells.
    """

    model: str
    judge: Callable[[Records, Mapping[str, Any]], Finding]
    variants: tuple[str, ...] = ()
    counts_dropped: bool = False

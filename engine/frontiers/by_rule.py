"""The policy that a rule chooses: of those whose release meets it, the one of the least utility loss.

In: a job with a rule, the plane of its table, the policies of a frontier. Out: a `Chosen`, or that there is none, with
the number of policies that were tried and what hindered each. The rule holds for what would be released, the suppressed
records included. Suppression only raises the utility loss, so policies are tried by ascending loss before it, until no
other one can lose less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.frontiers.compare.rule import Candidate, Reference, eligible
from engine.frontiers.document import Tried
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits
from engine.frontiers.trial import Hindrance, Trial, tried
from engine.job.frontier_settings import Rule
from engine.job.job import Job

# Sums of the same terms in another order differ by less than this share.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Chosen:
    """What came of a rule.

    Attributes
    ----------
    bits : Bits or None
        The policy; None if no release meets the rule.
    trial : Trial or None
        Its release.
    tried : Tried
    """

    bits: Bits | None
    trial: Trial | None
    tried: Tried


def by_rule(job: Job, rule: Rule, plane: Plane, candidates: Iterable[Candidate], dominated: Reference | None) -> Chosen:
    """Try policies, those of the least utility loss first.

    Parameters
    ----------
    candidates : iterable of Candidate
        With the figures of the table before suppression.
    dominated : Reference, optional
        What the rule's `dominates` names.
    """
    best: tuple[Candidate, Trial] | None = None
    hindered: Counter[Hindrance] = Counter()
    number = 0
    for candidate in eligible(candidates, None, None):
        if best is not None and candidate.utility_loss * (1 - _ROUNDING) > best[0].utility_loss:
            break
        number += 1
        hindrance = _at_once(job, rule, candidate, dominated)
        trial = tried(job, plane, candidate.bits) if hindrance is None else hindrance
        if isinstance(trial, Trial):
            point = Candidate(trial.risk, trial.utility_loss, candidate.bits)
            hindrance = _missed(rule, point, dominated)
            if hindrance is None:
                better = best is None or eligible([best[0], point], None, None)[0] is point
                best = (point, trial) if better else best
        else:
            hindrance = trial
        if hindrance is not None:
            hindered[hindrance] += 1
    found: Tried = {"policies": number, "hindered": dict(sorted(hindered.items()))}
    return Chosen(None, None, found) if best is None else Chosen(best[0].bits, best[1], found)


def _at_once(job: Job, rule: Rule, candidate: Candidate, dominated: Reference | None) -> Hindrance | None:
    """Return what hinders a policy whatever is suppressed; where nothing may be, its figures are those of a release."""
    if job.suppression_limit == 0 and not _suppresses_unseen(job):
        return _missed(rule, candidate, dominated)
    loses_more = dominated is not None and candidate.utility_loss * (1 - _ROUNDING) > dominated.utility_loss
    return "dominates" if loses_more else None


def _suppresses_unseen(job: Job) -> bool:
    return any(job.attributes[name].unseen == "suppress" for name in job.quasi_identifiers)


def _missed(rule: Rule, point: Candidate, dominated: Reference | None) -> Hindrance | None:
    if not eligible([point], rule.maximum_risk, None):
        return "risk"
    return None if eligible([point], None, dominated) else "dominates"

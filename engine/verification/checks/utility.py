"""The measures of utility that follow from the released file, its levels and the job alone, recounted.

Precision (Sweeney 2002) and height are of levels; discernibility (Bayardo, Agrawal 2005) and average class size
(LeFevre, DeWitt, Ramakrishnan 2006) of class sizes. All others read values behind the labels, which no file has. Where
the report withholds how few records were left out, or whether classes joined them, the figures are those of the
records in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.message import Message
from engine.verification.checks.margin import is_figure
from engine.verification.finding import Finding
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records
from engine.verification.tolerance import is_number

if TYPE_CHECKING:
    from engine.job.job import Job


def check_utility(records: Records, job: Job, report: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Compare the figures of a report with those of its release.

    There is no finding without a record, and of linked tables, of which no such figure is stated.

    Parameters
    ----------
    records : Records
        As many are kept as the report says.
    report : mapping or None
        With levels that the job allows. Without one nothing is compared.
    """
    if report is None or job.tables is not None:
        return
    all_records = records.kept_rows if _is_of_file(report) else report["rows"]
    if not all_records:
        return
    found = dict(_figures(records, job, report["solution"]["levels"], all_records))
    stated = report.get("utility")
    stated = stated if isinstance(stated, Mapping) else {}
    wrong = [name for name, figure in found.items() if name in stated and not is_figure(stated[name], figure)]
    # the loss of the search is that before further classes joined the suppressed records, unless they are withheld
    searched = not report["suppressed_class"]["joined"]
    if searched and not _is_loss(report["solution"].get("information_loss"), found, stated, job.utility.measure):
        wrong.append("information_loss")
    text = f"the output has another {', '.join(wrong)} than the report" if wrong else "utility of the file is as stated"
    yield Finding("figures", not wrong, None, None, None, Message(text))


def _is_loss(loss: Any, found: Mapping[str, float | None], stated: Mapping[str, Any], measure: str) -> bool:
    """Tell whether a loss is that of the measure: of one that nobody can recount, what its second place states."""
    if measure in found:
        return is_figure(loss, found[measure])
    beside = stated.get(measure)
    return not is_number(loss) or not is_number(beside) or is_figure(loss, beside)


def _is_of_file(report: Mapping[str, Any]) -> bool:
    """Tell whether figures are of the records in the file: how many others there are, or joined, is withheld."""
    gone = report["suppressed_class"]
    return report["rows"] is None or (gone["form"] == "drop" and gone["joined"] is None)


def _figures(
    records: Records, job: Job, levels: Mapping[str, int] | None, all_records: int
) -> Iterator[tuple[str, float | None]]:
    """Yield each measure by its name; None where it is infinite."""
    half, factor = 0.5, job.utility.generalization_suppression_factor
    generalized = 1.0 if factor <= half else 1.0 - 2.0 * (factor - half)
    suppressed = 2.0 * factor if factor < half else 1.0
    sizes: list[int] = classes_of(records).sizes.tolist()
    gone = all_records - sum(sizes)
    yield "discernibility", float(sum(size * size for size in sizes) + all_records * gone)
    divisor = len(sizes) * suppressed + (generalized if gone else 0.0)
    yield "average-class-size", all_records / divisor if divisor else None
    if levels is None:
        return
    heights, lost = [], []
    for name, level in levels.items():
        hierarchy = job.attributes[name].hierarchy
        assert hierarchy is not None  # noqa: S101 (the job's own validation)
        highest = hierarchy.level_count - 1
        heights.append(float(level))
        cost = generalized * (all_records - gone) * level / highest + suppressed * gone if highest else 0.0
        lost.append(cost / all_records)
    weights = [job.attributes[name].weight for name in levels]
    yield "height", _together(job.utility.aggregate, heights, weights)
    yield "precision", _together(job.utility.aggregate, lost, weights)


def _together(aggregate: str, losses: Sequence[float], weights: Sequence[float]) -> float:
    """Return the figure of several attributes; of ranked losses the largest."""
    shares = [weight / max(weights) for weight in weights]
    weighted = [loss * share for loss, share in zip(losses, shares, strict=True)]
    if aggregate == "arithmetic-mean":
        return math.fsum(weighted) / math.fsum(shares)
    if aggregate == "geometric-mean":
        return math.expm1(math.fsum(map(math.log1p, weighted)) / len(weighted))
    return math.fsum(weighted) if aggregate == "sum" else max(weighted)

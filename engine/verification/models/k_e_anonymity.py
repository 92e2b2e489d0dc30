"""(k,e)-anonymity, recounted: the different numbers of each class, and the distance of its largest from its smallest.

Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables. ICDE 2007. Numbers are the decimals that
the values of the output show as text, compared without rounding; a missing value is no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from engine.errors import InvalidData, InvalidJob
from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.histograms import Histograms, histograms
from engine.verification.records.records import Records
from engine.verification.records.value_order import in_order, order_by_type

_SMALLEST, _LARGEST = Decimal("1e-300"), Decimal("1e+300")


def recount_k_e_anonymity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the numbers of each class of the kept records.

    Raises
    ------
    InvalidData
        Values are no numbers of the attribute's order, or none between 1e-300 and 1e300 in size.
    InvalidJob
        The attribute is not ordered by number.
    """
    name = model["attribute"]
    found = histograms(records, name)
    order = records.sensitive.order or order_by_type(name, records.table.sensitive[name].kind, found.values)
    numbers = _numbers(found, name, order)
    least = Fraction(str(model["e"]))
    classes = [{numbers[place] for place in counts if place in numbers} for counts in found]
    ranges = [max(of) - min(of) if of else Fraction(0) for of in classes]
    below = sum(len(of) < model["k"] or spread < least for of, spread in zip(classes, ranges, strict=True))
    return Finding(
        "k-e-anonymity",
        holds=below == 0,
        observed=float(min(ranges)) if ranges else None,
        required=model["e"],
        sense="at-least",
        column=name,
        message=Message.of(
            "equivalence classes with fewer than {k} different values, or a range below {e:.12g}: {below} of {classes}",
            below=Count(below),
            classes=Count(len(ranges)),
            k=model["k"],
            e=model["e"],
        ),
    )


def _numbers(found: Histograms, name: str, order: str) -> dict[int, Fraction]:
    """Return the number of each value, by its position; missing values have none."""
    if order not in {"integer", "decimal"}:
        raise InvalidJob(f"attributes.{name}.order: k-e-anonymity needs integer or decimal, it is {order}; set it")
    in_order(name, found.values, order)  # refuses what is no such number
    read = {place: Decimal(value) for place, value in enumerate(found.values) if value is not None}
    beyond = sum(bool(number) and not _SMALLEST <= number.copy_abs() < _LARGEST for number in read.values())
    if beyond:
        raise InvalidData(
            Message.of(
                "column {name!r}: distinct values that are not between {smallest} and {largest} in size: "
                "{beyond}; k-e-anonymity cannot be recounted; correct them in the source",
                name=name,
                beyond=Count(beyond),
                smallest=_SMALLEST,
                largest=_LARGEST,
            )
        )
    return {place: Fraction(number) for place, number in read.items()}


RECOUNT = Recount(model="k-e-anonymity", judge=recount_k_e_anonymity)

"""Somebody finds the class of a person, and its sensitive values leave no doubt, or nearly none.

In: adult with its salary class as the sensitive attribute, under 5-anonymity, alone and with l-diversity. A guess is
the most frequent value of the class, over all records; sure knowledge is a class with a single value. The baseline is
the most frequent value of the table. k-anonymity promises nothing here, distinct l-diversity that nobody is sure,
recursive (c, l)-diversity that the most frequent value has at most the share c / (c + 1) of its class (Machanavajjhala
and others 2007, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator

from redteam import adult
from redteam.outcome import Outcome, share

SENSITIVE = "salary-class"
K_ANONYMITY = {"model": "k-anonymity", "k": 5}
DISTINCT = {"model": "l-diversity", "variant": "distinct", "attribute": SENSITIVE, "l": 2}
C = 9.0
RECURSIVE = {"model": "l-diversity", "variant": "recursive", "attribute": SENSITIVE, "c": C, "l": 2}


def attack(records: int = 6000) -> Iterator[Outcome]:
    """Yield what is sure and what is most likely, without l-diversity and with it."""
    source = adult.people().sample(records, random_state=7)
    baseline = float(source[SENSITIVE].value_counts(normalize=True).iloc[0])
    jobs = {
        "adult, k = 5": ([K_ANONYMITY], 1.0, 1.0),
        "adult, distinct l = 2": ([K_ANONYMITY, DISTINCT], 0.0, 1.0),
        f"adult, recursive c = {C:g}, l = 2": ([K_ANONYMITY, RECURSIVE], 0.0, C / (C + 1)),
    }
    for table, (models, most_sure, most_likely) in jobs.items():
        file = adult.released(adult.job_of(models, sensitive=SENSITIVE, suppression_limit=0.05), source)
        if file is None:
            raise RuntimeError(f"{table} must have a release")
        classes = file.groupby(list(adult.QUASI_IDENTIFIERS))[SENSITIVE]
        tries = len(file)
        sure = int(classes.transform("size")[classes.transform("nunique") == 1].count())
        largest = classes.agg(lambda one: one.value_counts().iloc[0])
        yield Outcome("a sensitive value for sure", table, tries, share(sure, tries), 0.0, most_sure)
        yield Outcome(
            "a sensitive value by the majority of its class",
            table,
            tries,
            share(int(largest.sum()), tries),
            baseline,
            most_likely,
        )

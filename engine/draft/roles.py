"""Which role a column gets in a first job file, and which hierarchy: by its name, its values, and how they vary.

In: profiles. Out: a `Proposal` per column, with the reason for whoever reads the file. What cannot be told is not
released as it is: it is generalized, or left out where it is nearly unique, or where there are too many columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from engine.draft.profile import Profile
from engine.draft.widths import widths_of
from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.policy_groups import AnyHierarchy
from engine.identifiers.kinds import COARSENED, WORDS
from engine.identifiers.names import words_of
from engine.job.attribute import Role

MOST_QUASI = 12
"""Quasi-identifiers of a first job of however many records: each further one costs time of the search."""
_LEAST_QUASI = 3
"""Those of however few."""
SMALL_CLASS = 11
"""The most that a first job asks of a class."""
_SIZES = ((500, SMALL_CLASS), (100, 5), (0, 2))
"""From how many persons or records on a class must have how many."""
_FEW = 12
"""Distinct numbers up to which they are codes rather than amounts."""
_MANY_TEXTS = 200
"""Distinct texts from which on a column without a known meaning is left out."""

_FIRST = (
    "age|years|alter|edad|eta|leeftijd|idade|sex|gender|geschlecht|sexe|sexo|sesso|geslacht|race|ethnicity|ethnic|"
    "ethnie|etnia"
)
"""What is in nearly every table, and what most studies ask for: it stays where a table has too many columns."""
_KNOWN = (
    f"{_FIRST}|marital|mar|married|familienstand|civil|education|educ|schooling|bildung|occupation|job|beruf|"
    "profession|religion|faith|language|sprache|nationality|nation|citizenship|country|land|pays|pais|state|province|"
    "region|county|city|town|stadt|ville|ciudad|municipality|gemeinde|canton|kanton|district|rural|urban|birth|born|"
    "height|weight|bmi|children|parity|household|income|insurance|payer|employment|employed|veteran|immigrant|"
    "admission|discharge|ward|hospital|facility|site|centre|center|clinic|institution|plz|zip"
)
_SENSITIVE = (
    "diagnosis|diag|diagnose|dx|icd|disease|illness|condition|krankheit|maladie|enfermedad|malattia|outcome|result|"
    "death|dead|died|deceased|alive|survived|mortality|expire|expired|tod|verstorben|status|event|relapse|recurrence|"
    "recur|hiv|aids|hepatitis|cancer|tumor|tumour|stage|grade|metastasis|smoker|smoking|smoke|alcohol|drug|drugs|"
    "medication|treatment|therapy|therapie|procedure|operation|surgery|psychiatric|depression|suicide|pregnancy|"
    "arrest|lab|test|disposition|cause|morphology|histology|comorbidity|charlson|severity|complication|infection"
)
_PERSON = (
    "patient id|patientid|person id|subject id|subjectid|participant id|patient number|patient no|patient nr|mrn|"
    "patientennummer|patnr|pat id|patient|pid|usubjid|subjid|numero patient|id patient|id paziente|id paciente|"
    "medical record number|bene id|desynpuf id|member id|person key|patient key|id person|patient num|patient uuid|"
    "pid num|pid nr"
)


def _joined(listed: str) -> frozenset[str]:
    return frozenset(words.replace(" ", "") for words in listed.split("|"))


_FIRST_WORDS, _KNOWN_WORDS, _SENSITIVE_WORDS, _PERSON_WORDS = map(_joined, (_FIRST, _KNOWN, _SENSITIVE, _PERSON))


@dataclass(frozen=True)
class Proposal:
    """A column of a first job file.

    Attributes
    ----------
    settings : mapping
        What stands under `attributes`, as plain data.
    reason : str
        Why, for the comment beside it.
    rank : int
        Among quasi-identifiers: smaller stays first when there are too many.
    """

    column: str
    settings: Mapping[str, Any]
    reason: str
    rank: int = 0
    profile: Profile | None = field(default=None, repr=False)

    @property
    def role(self) -> Role:
        """Its role."""
        role: Role = self.settings["role"]
        return role


def proposals(found: Mapping[str, Profile]) -> dict[str, Proposal]:
    """Propose a role for each column, in their order."""
    made = {name: proposal(profile) for name, profile in found.items()}
    return with_fewer_quasi(made, max((profile.records for profile in found.values()), default=0))


def most_quasi(records: int) -> int:
    """Return how many quasi-identifiers a first job may have, for so many records or persons.

    A column that keeps at least two groups halves the classes on average, and a class must have `least_class` of
    them: so log2(records / least_class) columns, at least 3 and at most 12. With more, some would keep nothing.
    """
    halvings = int(math.log2(records / least_class(records))) if records else 0
    return min(MOST_QUASI, max(_LEAST_QUASI, halvings))


def least_class(counted: int) -> int:
    """Return how many persons or records a class must have in a first job, for so many of them."""
    return next(size for least, size in _SIZES if counted >= least)


def with_fewer_quasi(made: Mapping[str, Proposal], records: int) -> dict[str, Proposal]:
    """Leave out the quasi-identifiers beyond `most_quasi`, the least known first."""
    quasi = [one for one in made.values() if one.role == "quasi-identifying"]
    ranked = sorted(quasi, key=lambda one: one.rank)
    most = most_quasi(records)
    dropped = {one.column for one in ranked[most:]}
    bounds = (
        f"over {most} columns to generalize"
        if most == MOST_QUASI
        else f"{few(records)} {'row carries' if records == 1 else 'rows carry'} {most} columns"
    )
    return {
        name: _left_out(one, f"left out: {bounds}; swap it for another if it matters") if name in dropped else one
        for name, one in made.items()
    }


def sensitive_as_quasi(made: Mapping[str, Proposal]) -> dict[str, Proposal]:
    """Generalize the sensitive columns of a table that has nothing else to generalize."""
    return {
        name: _quasi(one.profile, (), is_known=False) if one.role == "sensitive" and one.profile is not None else one
        for name, one in made.items()
    }


def proposal(profile: Profile) -> Proposal:
    """Propose the role of one column."""
    kind, words = profile.kind, words_of(profile.column)
    if profile.type in {"empty", "other"}:
        what = "has no value" if profile.type == "empty" else "its type has no text form"
        return _leave(profile, f"{what}; left out")
    if _is_id(profile, words):
        kind = kind or "record-number"
    if kind is not None and kind not in COARSENED:
        return _leave(profile, f"looks like {WORDS[kind]}; stays in the source")
    if kind is not None or profile.type == "date":
        return _coarsened(profile, words)
    return _undecided(profile, words)


def _undecided(profile: Profile, words: Sequence[str]) -> Proposal:
    """Propose the role of a column that looks like no identifier."""
    if profile.distinct == 1 and not profile.missing:
        return _leave(profile, f"{profile.type}, one value in all records, which tells nothing; left out: decide")
    is_known = bool(_KNOWN_WORDS & set(words))
    if not is_known and _SENSITIVE_WORDS & set(words) and not profile.is_nearly_unique:
        missing = {"missing": list(profile.missing_texts)} if profile.missing_texts else {}
        reason = f"{_says(profile)}; released as it is, and what a class tells of it is limited under privacy"
        return Proposal(profile.column, {"role": "sensitive", **missing}, reason, profile=profile)
    is_wide = profile.is_nearly_unique or (profile.distinct > _MANY_TEXTS and not is_known)
    if profile.type == "text" and is_wide and not {"icd", "icd10", "atc"} & set(words):
        return _leave(profile, f"{_says(profile)}; left out: decide, and give a hierarchy to release it")
    return _quasi(profile, words, is_known=is_known)


def is_person(profile: Profile) -> bool:
    """Tell whether a column seems to say whose a record is."""
    return "".join(words_of(profile.column)) in _PERSON_WORDS and profile.missing == 0 and profile.type != "other"


def _is_id(profile: Profile, words: Sequence[str]) -> bool:
    """Tell whether it is a number that names something: `claim_id`, an index, numbers that never repeat."""
    ends = bool(words) and words[-1] in {"id", "ids", "nr", "no", "uid", "key", "identifier", "index", "rownames"}
    if ends and (profile.is_nearly_unique or profile.distinct > _FEW):
        return True
    if profile.type != "integer" or profile.repeats or profile.distinct < _FEW:
        return False
    if profile.is_nearly_unique:  # amounts of so many records repeat
        return True
    numbers = sorted(map(int, profile.values))
    return numbers[0] in {0, 1} and numbers[-1] - numbers[0] == len(numbers) - 1


def _coarsened(profile: Profile, words: Sequence[str]) -> Proposal:
    """Propose a hierarchy for dates and postcodes, from the level on that Safe Harbor allows."""
    hierarchies: list[tuple[dict[str, Any], int, str]] = []
    if profile.type == "date":
        form = {} if profile.format == "YYYY-MM-DD" else {"format": profile.format}
        hierarchies = [({"builder": "date", **form, "levels": ["year", "decade"]}, 1, "from years on, as Safe Harbor")]
    elif profile.kind == "zip":
        three = "three digits at most, as Safe Harbor"
        elsewhere = "if they are not of the United States, decide: builder postcode"
        hierarchies = [
            ({"builder": "zip"}, 2, f"{three}; {elsewhere}"),
            ({"builder": "zip", "pad": True}, 2, f"{three}; leading zeros were lost; {elsewhere}"),
            *(
                ({"builder": "redaction", "length": length, "alphabet": "any"}, 1, "cut from the right")
                for length in {len(value) for value in profile.values[:1]}
            ),
        ]
    for hierarchy, lowest, why in hierarchies:
        if _fits(hierarchy, profile):
            what = WORDS[profile.kind] if profile.kind else "dates"
            return _with_hierarchy(profile, hierarchy, f"{what}: {why}", 0, lowest)
    if profile.kind == "birth-date" and profile.type in {"integer", "decimal"} and "year" in words:
        return _quasi(profile, words, is_known=True)
    what = WORDS[profile.kind] if profile.kind else "dates"
    return _leave(profile, f"looks like {what} in a form that no hierarchy reads; left out: decide")


def _quasi(profile: Profile, words: Sequence[str], *, is_known: bool) -> Proposal:
    rank = 0 if is_known else 1 + profile.distinct
    if _FIRST_WORDS & set(words):
        rank = -1
    for hierarchy, lowest, why in _candidates(profile, words):
        if _fits(hierarchy, profile):
            doubt = "" if is_known else "; decide: others may know it, or it may be sensitive"
            return _with_hierarchy(profile, hierarchy, f"{_says(profile)}{why}{doubt}", rank, lowest)
    return _leave(profile, f"{_says(profile)}; no hierarchy reads all of its values; left out: decide")


def _candidates(profile: Profile, words: Sequence[str]) -> list[tuple[dict[str, Any], int, str]]:
    """Return the hierarchies that may fit a column, the best first, with the lowest level that is safe."""
    found: list[tuple[dict[str, Any], int, str]] = []
    if profile.type == "integer" and {"age", "years", "alter", "edad", "eta", "leeftijd", "idade"} & set(words):
        found.append(({"builder": "age"}, 1, "; ages of 90 and above are one, as Safe Harbor"))
    if profile.type in {"integer", "decimal"} and profile.distinct > _FEW:
        widths = widths_of(profile.values, whole=profile.type == "integer")
        if widths:
            kind = {} if profile.type == "integer" else {"type": "decimal"}
            plain = [int(width) if width == int(width) else float(width) for width in widths]
            found.append(({"builder": "interval", **kind, "widths": plain}, 0, ""))
    if {"icd", "icd10", "diagnosis", "diag", "dx"} & set(words):
        found.append(({"builder": "icd-10-cm"}, 0, ""))
    if "atc" in words:
        found.append(({"builder": "atc"}, 0, ""))
    return [*found, ({"builder": "flat"}, 0, "")]


def _fits(hierarchy: Mapping[str, Any], profile: Profile) -> bool:
    """Tell whether a hierarchy has a row for each value; one that no job may have, such as of long texts, does not."""
    try:
        builder: HierarchyBuilder = _ADAPTER.validate_python(hierarchy)
    except ValidationError:
        return False
    rows = {row[0] for row in builder.rows(profile.values)}
    return all(value in rows for value in profile.values)


_ADAPTER: TypeAdapter[Any] = TypeAdapter(AnyHierarchy)


def _with_hierarchy(profile: Profile, hierarchy: Mapping[str, Any], reason: str, rank: int, lowest: int) -> Proposal:
    settings: dict[str, Any] = {"role": "quasi-identifying", "hierarchy": dict(hierarchy)}
    if lowest:
        settings["minimum_level"] = lowest
    if profile.missing_texts:
        settings["missing"] = list(profile.missing_texts)
    return Proposal(profile.column, settings, reason, rank, profile)


def _leave(profile: Profile, reason: str) -> Proposal:
    return Proposal(profile.column, {"role": "identifying"}, reason, profile=profile)


def _left_out(made: Proposal, reason: str) -> Proposal:
    return replace(made, settings={"role": "identifying"}, reason=reason)


def _says(profile: Profile) -> str:
    """Say what a column holds, without a value and without an exact count."""
    if profile.is_nearly_unique:
        return f"{profile.type}, nearly unique"
    noun = "value" if profile.distinct == 1 else "values"
    return f"{profile.type}, {few(profile.distinct)} distinct {noun}"


def few(count: int) -> str:
    """Write a number to two digits, so that it tells no record."""
    if count < 100:  # noqa: PLR2004 (two digits)
        return str(count)
    return f"about {int(float(f'{count:.2g}')):,}"

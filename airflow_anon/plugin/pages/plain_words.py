"""What a release means for the people in it: one sentence, the three risks of WP216, and the usual yardsticks.

In: the document of an entry. Out: words and figures, told as on all pages (`airflow_anon.disclosure`).

Article 29 Data Protection Working Party: Opinion 05/2014 on Anonymisation Techniques (WP216), 2014, section 2.2.1:
singling out, linkability, inference. EMA: External guidance on the implementation of Policy 0070, 2016: a risk of at
most 0.09. CMS cell size suppression policy: no cell of 1 to 10. El Emam, Arbuckle: Anonymizing Health Data, 2013:
classes of 20, a risk of 0.05, where data go to many recipients. HIPAA, 45 CFR 164.514(b)(2): Safe Harbor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_anon.disclosure.counts import Figure, count, told
from airflow_anon.plugin.page_forms.content import PlainRisk, PlainWords, Yardstick
from airflow_anon.plugin.pages.bounds import HIGHEST_RISK, SIZES
from airflow_anon.plugin.pages.class_sizes import class_sizes
from airflow_anon.plugin.pages.measures import risk_of
from airflow_anon.plugin.words import NONE, number, percent

if TYPE_CHECKING:
    from airflow_anon.ledger import form_lint
    from airflow_anon.ledger.form import Document


def plain_words(document: Document) -> PlainWords | None:
    """Return what a release means in plain words; None for an attempt without figures."""
    if document.classes is None or not document.risk:
        return None
    smallest = _smallest(document)
    return {
        "sentence": f"{_narrowed(document, smallest)} {_inferred(document)}",
        "recipient": document.job.recipient,
        "risks": [_singling_out(document, smallest), _linkability(document), _inference(document)],
        "yardsticks": _yardsticks(document, smallest),
    }


def _smallest(document: Document) -> Figure:
    """Return the fewest among whom somebody is found: of a class, or, if some rows are known, of who shares them."""
    knows = None if document.records is None else document.records.knows
    if knows is None or isinstance(knows, str):
        sizes = class_sizes(document)
        return told(None) if sizes is None else sizes["smallest"]
    # what several rows tell is no class: the criterion that counts persons has the fewest who share them
    counted = [one.observed for one in document.privacy or () if "attribute" not in (one.parameters or {})]
    fewest = min((float(one) for one in counted if one is not None), default=None)
    return count(fewest, document.smallest)


def _narrowed(document: Document, smallest: Figure) -> str:
    who = "Nobody" if document.counts_persons else "No record"
    if smallest["value"] is None:
        return f"How far {who.lower()} can be narrowed down is not told: a group is smaller than the job allows."
    if smallest["value"] <= 1:
        alone = "Somebody" if document.counts_persons else "A record"
        return f"{alone} may stand alone by what others may know of them."
    fewest = f"{number(smallest['value'])} {document_unit(document)}"
    return f"{who} can be narrowed down to fewer than {fewest} by {_attacker(document)}."


def _attacker(document: Document) -> str:
    knows = None if document.records is None else document.records.knows
    if not document.counts_persons:
        return "who knows its quasi-identifiers"
    if knows is None or isinstance(knows, str):
        return f"who knows {'all' if knows == 'all-rows' else 'any one'} of their rows"
    return f"who knows up to {knows.rows} of their rows"


def _inferred(document: Document) -> str:
    """Say how well a sensitive value is guessed for who is found in a group, of the column where it works best."""
    alike = _homogeneous(document)
    if alike:
        most = max(alike, key=lambda one: one.records_share or 0)
        share = "" if most.records_share is None else f", with {percent(most.records_share)} of the records,"
        groups = "In one group" if most.homogeneous == 1 else f"In {number(most.homogeneous)} groups"
        return f"{groups}{share} all have the same {most.column}: whoever is known to be in one is known to have it."
    best = _best_guess(document)
    if best is None:
        return "How well a sensitive value can be guessed is not told."
    column, right, without = best
    return (
        f"Whoever knows the group guesses {column} right for {percent(right)} of the records; without it, for "
        f"{percent(without)}."
    )


def _homogeneous(document: Document) -> list[form_lint.LintedClasses]:
    return [one for one in (document.lint.classes if document.lint else None) or () if one.homogeneous]


def _best_guess(document: Document) -> tuple[str, float, float | None] | None:
    known = [
        (column, float(one.by_class), None if one.by_table is None else float(one.by_table))
        for column, one in (document.attribute_inference or {}).items()
        if one.by_class is not None
    ]
    return max(known, key=lambda one: one[1], default=None)


def _singling_out(document: Document, smallest: Figure) -> PlainRisk:
    highest = risk_of(document, "prosecutor")
    size = NONE if smallest["value"] is None else number(smallest["value"])
    return {
        "risk": "Singling out",
        "asks": "Can somebody's record be told from all others?",
        "words": f"The smallest group has {size} {document_unit(document)}, so the highest chance to find one is "
        f"{percent(highest['value'])}.",
    }


def _linkability(document: Document) -> PlainRisk:
    columns = document.job.attributes
    lasting = [
        name
        for name, one in columns.items()
        if one.is_pseudonymized and (one.key_conn_id is not None or one.key_file is not None)
    ]
    fresh = [name for name, one in columns.items() if one.is_pseudonymized and name not in lasting]
    words = "No direct identifier and no order is released by which records could be joined."
    if lasting:
        words = f"The pseudonyms of {', '.join(lasting)} stay, so somebody's records can be joined over releases."
    elif fresh:
        words = f"The pseudonyms of {', '.join(fresh)} join records within this release, and to no other one."
    return {
        "risk": "Linkability",
        "asks": "Can somebody's records be joined, here or over releases?",
        "words": f"{words} Who came or left between two nights is not covered.",
    }


def _inference(document: Document) -> PlainRisk:
    if not document.attribute_inference and not _homogeneous(document):
        return {
            "risk": "Inference",
            "asks": "Can something be learnt of somebody with good probability?",
            "words": "The job names no sensitive column, or the guess was not measured.",
        }
    bounded = [
        one.description or one.model
        for one in document.privacy or ()
        if one.parameters and "attribute" in one.parameters
    ]
    bound = f" Bounded by: {'; '.join(bounded)}." if bounded else " No criterion of the job bounds it."
    return {
        "risk": "Inference",
        "asks": "Can something be learnt of somebody with good probability?",
        "words": _inferred(document) + bound,
    }


def document_unit(document: Document) -> str:
    """Return what groups of a document count."""
    return "people" if document.counts_persons else "records"


def _yardsticks(document: Document, smallest: Figure) -> list[Yardstick]:
    highest, size = risk_of(document, "prosecutor")["value"], smallest["value"]
    own = document.smallest
    return [
        _yardstick(f"the job's own: no group below {own}", number(size), None if size is None else size >= own),
        _yardstick(
            "highest risk at most 0.09 (EMA Policy 0070, public data)",
            percent(highest),
            None if highest is None else highest <= HIGHEST_RISK,
        ),
        *(_yardstick(name, number(size), None if size is None else size >= least) for least, name in SIZES),
        _yardstick("Safe Harbor (HIPAA 164.514(b)(2))", "a rule of columns, not a figure: see the frontier page", None),
    ]


def _yardstick(name: str, observed: str, met: bool | None) -> Yardstick:
    return {"name": name, "observed": observed, "met": met}

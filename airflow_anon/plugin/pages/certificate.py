"""The certificate of a release: a page to file for an ethics board, which can be checked against the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_anon.plugin.page_forms.release import Audit, CertificatePage
from airflow_anon.plugin.pages.files import HARMS
from airflow_anon.plugin.pages.leaves import leaves
from airflow_anon.plugin.pages.release import audit, chosen
from airflow_anon.plugin.reading import NoSuchPageError

if TYPE_CHECKING:
    from airflow_anon.plugin.reading import Reading


def certificate(reading: Reading, parameters: Mapping[str, str]) -> CertificatePage:
    """Return the certificate of a run's release.

    Parameters
    ----------
    parameters : mapping
        ``dag_id``, ``run_id``; ``entry``: the sequence of one of the run's releases, by default the newest.

    Returns
    -------
    CertificatePage
        Valid if the entry is as it was written, and the files are too as far as the share can be reached.

    Raises
    ------
    NoSuchPageError
        The run has no release, or `entry` is not one of its releases.
    """
    entries = reading.ledger.of_run(parameters["dag_id"], parameters["run_id"])
    entry = chosen([one for one in entries if one.outcome == "released"], parameters.get("entry"))
    if entry is None:
        raise NoSuchPageError
    found = audit(reading, entry, all_files=True)
    document = reading.document(entry.sequence)
    objections = _objections(found)
    return {
        "dag_id": entry.dag_id,
        "run_id": entry.run_id,
        "entry": found,
        "leaves": None if document is None or found["content"] is None else leaves(document),
        "valid": not objections,
        "objections": objections,
        "anchor": f"{entry.sequence}:{entry.entry_sha256}",
        "command": f"airflow-anon ledger verify --entry {entry.sequence}:{entry.entry_sha256}",
    }


def _objections(found: Audit) -> list[str]:
    told = [*found["integrity"]["breaks"], *found["integrity"]["beside"]]
    if found["withdrawn"] is not None and found["withdrawn"]["outcome"] == "recalled":
        told.append(found["withdrawn"]["words"])
    if found["content"] is None:
        told.append("The document of this entry cannot be read.")
    files = [] if found["files"] is None else found["files"]["files"]
    places = [] if found["delivery"] is None else [found["delivery"]["link"], found["delivery"]["table"]]
    told += [f"{one['name']}: {one['words']}" for one in files if one["state"] in HARMS]
    told += [f"{one['name']}: {one['words']}" for one in places if one is not None and one["state"] in HARMS]
    return told

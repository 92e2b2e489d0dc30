"""`airflow-anon ledger verify`: checks the chain, entries named on certificates, released files, and the share."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from airflow_anon.ledger.cli_text import shown
from airflow_anon.ledger.delivery import FINE, NOT_RECORDED, LinkState, delivery_of
from airflow_anon.ledger.entry import GIVEN_UP
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.expected_file import ADDED, MATCHES, UNREACHABLE
from airflow_anon.ledger.form import read
from airflow_anon.ledger.given_up import MADE_ANEW, given_up, given_up_of, is_there, left_of
from airflow_anon.ledger.moved_releases import folders_of, other_places
from airflow_anon.ledger.released_places import places_of
from airflow_anon.ledger.share_check import HARMS, FileState, check_files
from airflow_anon.ledger.share_orphans import orphans, unknown_releases
from airflow_anon.transport.address import give_up_command, parent_of
from airflow_anon.transport.release_files import CURRENT

if TYPE_CHECKING:
    from airflow_anon.ledger.entry import Entry
    from airflow_anon.ledger.given_up import GivenUp
    from airflow_anon.ledger.store import Ledger

INTACT, UNREADABLE, TAMPERED = 0, 2, 4


def add_verify(commands: Any) -> None:
    """Add the command to the subcommands of a parser."""
    verify = commands.add_parser("verify", help="check that nothing was changed or removed")
    verify.add_argument(
        "--entry",
        action="append",
        default=[],
        type=_anchor,
        metavar="SEQUENCE:SHA256",
        help="also compare an entry's hash with this one, from its certificate; may be repeated",
    )
    verify.add_argument(
        "--files",
        action="store_true",
        help="also compare what readers have: every released file in the share, the link to the newest release, and "
        "the content of tables; and look in these shares for releases without an entry",
    )
    verify.add_argument("--share", metavar="DIR", help="also look here for releases without an entry, and the reverse")
    verify.add_argument("--json", action="store_true", help="print JSON")
    verify.set_defaults(command=_verify)


def _anchor(text: str) -> tuple[int, str]:
    match = re.fullmatch(r"(\d{1,18}):([0-9a-fA-F]{64})", text)
    if match is None:
        raise argparse.ArgumentTypeError("must be the number of an entry, a colon, and 64 hexadecimal digits")
    return int(match[1]), match[2].lower()


def _verify(ledger: Ledger, options: argparse.Namespace) -> int:
    if not ledger.exists():
        # An empty ledger would pass as intact if the address is mistyped or somebody removed the ledger.
        raise LedgerError(
            f"ledger {ledger.address}: does not exist, so there is nothing to verify; "
            "name another one by --ledger, or by AIRFLOW_ANON_LEDGER"
        )
    found = {
        **_chain(ledger, options.entry),
        "pending": [asdict(row) for row in ledger.pending()],
        "files": _files(ledger) if options.files else None,
        "given_up": _given_up(ledger) if options.files else None,
        "orphans": _orphans(ledger, options),
    }
    status = _status(found)
    if options.json:
        sys.stdout.write(json.dumps({"ledger": ledger.address, "intact": status == INTACT, **found}, indent=2) + "\n")
    else:
        sys.stdout.writelines(f"{shown(line)}\n" for line in _lines(ledger.address, found, status))
    return status


def _chain(ledger: Ledger, anchors: Sequence[tuple[int, str]]) -> dict[str, Any]:
    breaks = [asdict(found) for found in ledger.check()]
    for sequence, sha256 in anchors:
        breaks += _anchored(ledger.entry(sequence), sequence, sha256)
    newest = next(iter(ledger.entries(limit=1)), None)
    return {
        "entries": len(ledger.entries()),
        "newest": newest and {"sequence": newest.sequence, "entry_sha256": newest.entry_sha256},
        "breaks": breaks,
    }


def _anchored(entry: Entry | None, sequence: int, sha256: str) -> list[dict[str, Any]]:
    if entry is not None and entry.entry_sha256 == sha256:
        return []
    what = (
        f"Entry {sequence} is missing, although a certificate has its hash."
        if entry is None
        else f"Entry {sequence} does not have the hash on its certificate: the ledger was rewritten from this entry on."
    )
    return [{"sequence": sequence, "what": what, "dag_id": entry and entry.dag_id}]


def _files(ledger: Ledger) -> list[dict[str, Any]]:
    """Return what readers have that does not match, per entry: files, the link to the newest release, and tables."""
    odd = []
    lost: dict[str, list[GivenUp]] = {}
    folders: dict[str, list[str]] = {}
    for entry in ledger.entries():
        if entry.outcome != "released":
            continue
        try:
            document = ledger.document(entry.sequence)
        except LedgerError:
            # The breaks list it.
            continue
        if entry.job not in lost:
            lost[entry.job] = given_up(ledger, entry.job)
            folders[entry.job] = folders_of(ledger, entry.job)
        if ledger.withdrawal(entry.job, str(entry.release_id)) is None:
            states = [state for state in check_files(left_of(lost[entry.job], document)) if state.state != MATCHES]
        else:
            states = _still_there(document, other_places(folders[entry.job], _own(document), str(entry.release_id)))
        states += _delivered(ledger, entry, document, lost[entry.job])
        told = {"sequence": entry.sequence, "job": entry.job}
        odd += [{**told, **asdict(state), "folder": _folder_away(state, document)} for state in states]
    return odd


def _folder_away(state: FileState, document: dict[str, Any]) -> str | None:
    """Return the job's folder in the share in which a file, or `current`, cannot be reached; None of other states."""
    if state.state != UNREACHABLE or state.name.startswith("table "):
        return None
    folders = [parent_of(place) for place in places_of(document.get("publication"))]
    return next((one for one in folders[1:] if state.name.removeprefix(f"{CURRENT} in ").startswith(one)), folders[0])


def _orphans(ledger: Ledger, options: argparse.Namespace) -> list[dict[str, Any]] | None:
    """Return what is only in a share or only in the ledger: of all shares of its jobs, and of one that is named."""
    if not options.files and not options.share:
        return None
    found = orphans(options.share, ledger) if options.share else []
    found += [one for one in (unknown_releases(ledger) if options.files else ()) if one not in found]
    return [asdict(one) for one in found]


def _own(document: dict[str, Any]) -> list[str]:
    return places_of(document.get("publication"))


def _still_there(document: dict[str, Any], others: Sequence[str]) -> list[FileState]:
    """Return the folders of a release that was recalled or removed which are in a share again or still.

    Parameters
    ----------
    others : sequence of str
        Where it may lie though its entry does not say so.
    """
    state = FileState(name="the folder of a withdrawn release", sha256=None, state=ADDED)
    told = "it lies in {}, which its entry does not name: a share of the job was moved, or somebody copied it"
    there = [state for place in _own(document) if is_there(place)]
    return there + [replace(state, why=told.format(place)) for place in others if is_there(place)]


def _given_up(ledger: Ledger) -> list[dict[str, Any]]:
    """Return the shares that were given up, by whom and why, and how many of their releases are there again."""
    found = []
    for job in dict.fromkeys(entry.job for entry in ledger.entries() if entry.outcome == GIVEN_UP):
        releases = {str(entry.release_id): entry for entry in ledger.of_job(job, outcome="released")}
        for share in given_up(ledger, job):
            told = share.told.model_dump(include={"by", "why", "found", "releases"})
            known = [releases[name] for name in share.told.releases if name in releases]
            again = sum(_is_again(ledger, entry, share) for entry in known)
            named = {"sequence": share.entry.sequence, "recorded_at": share.entry.recorded_at, "job": job}
            found.append({**named, "share": share.share, **told, "there_again": again})
    return found


def _is_again(ledger: Ledger, entry: Entry, share: GivenUp) -> bool:
    """Whether a release lies in a share again that was given up; of a table its check tells."""
    try:
        publication = ledger.document(entry.sequence).get("publication")
    except LedgerError:
        return False
    return share.told.path is not None and any(is_there(place) for place in given_up_of([share], publication))


def _delivered(ledger: Ledger, entry: Entry, document: dict[str, Any], lost: Sequence[GivenUp]) -> list[FileState]:
    """Return the link and the table of a release that readers should get, unless they are as they should be."""
    form = read(document)
    if form is None:
        return []
    found = delivery_of(ledger, entry, form, lost=lost)
    states = []
    if found.link is not None:
        states.append(_link_state(ledger, entry, CURRENT, found.link))
    states += [_link_state(ledger, entry, f"{CURRENT} in {one.place}", one) for one in found.also]
    if found.table is not None:
        name = f"table {found.table.table} of {found.table.conn_id!r}"
        states.append(FileState(name=name, sha256=found.table.sha256, state=found.table.state, why=found.table.why))
    return [one for one in states if one.state not in FINE]


def _link_state(ledger: Ledger, entry: Entry, name: str, link: LinkState) -> FileState:
    """Return the state of a link, and what leads readers to a release that was cut off after its entry."""
    is_off = link.state in HARMS and ledger.withdrawal(entry.job, str(entry.release_id)) is None
    why = (
        "if nobody changed it, its publication was cut off after the entry: clear its run, or say `airflow-anon settle "
        f"{entry.job}/{entry.release_id}`"
    )
    return FileState(name=name, sha256=None, state=link.state, why=why if is_off else None)


def _status(found: dict[str, Any]) -> int:
    files = [file for file in found["files"] or [] if file["state"] != NOT_RECORDED]
    if found["breaks"] or found["orphans"] or any(file["state"] != UNREACHABLE for file in files):
        return TAMPERED
    return UNREADABLE if files else INTACT


def _lines(address: str, found: dict[str, Any], status: int) -> list[str]:
    newest = found["newest"]
    lines = [f"ledger    {address}", f"entries   {found['entries']}"]
    if newest:
        lines.append(f"newest    {newest['sequence']}:{newest['entry_sha256']}")
    lines += [_pending_text(row) for row in found["pending"]]
    lines += [f"TAMPERED  {broken['what']}" for broken in found["breaks"]]
    lines += _away_lines(found["files"] or [])
    for file in found["files"] or []:
        if file["folder"] is not None:
            continue
        if file["name"] == CURRENT:
            why = f"; {file['why']}" if file["why"] else ""
            lines.append(f"LINK      {CURRENT} does not lead readers of {file['job']} to entry {file['sequence']}{why}")
            continue
        why = f": {file['why']}" if file["why"] else ""
        lines.append(f"FILE      {file['name']} of entry {file['sequence']} ({file['job']}): {file['state']}{why}")
    lines += [f"SHARE     {_orphan_text(orphan)}" for orphan in found["orphans"] or []]
    lines += [f"GIVEN UP  {_given_up_text(share)}" for share in found["given_up"] or []]
    verdict = {
        INTACT: "intact",
        TAMPERED: "NOT intact",
        UNREADABLE: "unknown: a share cannot be reached, so its files were not compared",
    }
    return [*lines, f"result    {verdict[status]}"]


def _away_lines(files: Sequence[dict[str, Any]]) -> list[str]:
    """Say once of each folder that cannot be reached what was not compared there: a share has hundreds of releases."""
    entries: dict[str, set[int]] = {}
    for file in files:
        if file["folder"] is not None:
            entries.setdefault(file["folder"], set()).add(file["sequence"])
    return [
        f"AWAY      {folder}: cannot be reached, so {len(told)} of its releases were not compared, the newest is entry "
        f"{max(told)}; mount it, or let who runs this read it; if it is gone for good, say so by "
        f"{give_up_command(parent_of(folder))}"
        for folder, told in entries.items()
    ]


def _pending_text(row: dict[str, Any]) -> str:
    return (
        f"pending   release {row['release_id']} of {row['job']}, since {row['since']}, of run {row['run_id']} of DAG "
        f"{row['dag_id']}: it goes on, or the next run of the job settles it; if none does, `airflow-anon settle "
        f"{row['job']}/{row['release_id']}`"
    )


def _given_up_text(share: dict[str, Any]) -> str:
    again = f"; {share['there_again']} of them lie there again" if share["there_again"] else ""
    had = "which has newer releases and had lost" if share["found"] == MADE_ANEW else "which had releases"
    return (
        f"{share['share']} of {share['job']}, {had}: {len(share['releases'])}{again}; entry "
        f"{share['sequence']} on {share['recorded_at']} by {share['by']}: {share['why']}"
    )


def _orphan_text(orphan: dict[str, Any]) -> str:
    release = f"release {orphan['release_id']} of {orphan['job']}"
    if orphan["sequence"] is None:
        return f"{release} has no entry: put the ledger back that has it, or delete this release from the share"
    return (
        f"{release} is gone, entry {orphan['sequence']}: put it back, or `airflow-anon give-up` the share that lost it"
    )

"""The forms of a run's audit page and of its certificate."""

from __future__ import annotations

from typing import Literal, TypedDict

from airflow_anon.plugin.page_forms.content import Content
from airflow_anon.plugin.page_forms.parts import Chain, Outline, PendingOutline


class Integrity(TypedDict):
    """Whether an entry is as it was written; `beside`: what is wrong with the entries beside it."""

    intact: bool
    breaks: list[str]
    beside: list[str]


Verdict = Literal["intact", "changed", "unreachable", "sizes"]


class ReleasedFile(TypedDict):
    """A file of a release and its state."""

    name: str
    bytes: int | None
    sha256: str | None
    state: str
    words: str


class Files(TypedDict):
    """The files of a release; `sizes`: some were too large to hash at once."""

    verdict: Verdict
    files: list[ReleasedFile]


DeliveryVerdict = Literal["intact", "changed", "open"]


class Place(TypedDict):
    """A place where readers get a release, and its state; `sha256` of a table's content, None if not recorded."""

    name: str
    sha256: str | None
    state: str
    words: str


class Delivery(TypedDict):
    """What readers get; `open`: something could not be compared, or not at once; `also`: links of further shares."""

    verdict: DeliveryVerdict
    link: Place | None
    table: Place | None
    also: list[Place]


class Withdrawn(TypedDict):
    """The entry by which a release was recalled or removed; `words` say when, and by whom or why."""

    outcome: Literal["recalled", "removed"]
    sequence: int
    run_id: str
    recorded_at: str
    by: str | None
    why: str | None
    words: str


class GivenUp(TypedDict):
    """A share that somebody gave up as gone for good, and `words` that say when, by whom, and what follows."""

    share: str
    sequence: int
    run_id: str
    why: str
    words: str


class Audit(Outline):
    """Everything known of an entry; `content` is None if its document cannot be read.

    `given_up` are the shares that the release was in, or that the entry itself is about, and that were given up.
    """

    job_sha256: str | None
    manifest_sha256: str | None
    document_sha256: str
    previous_sha256: str
    entry_sha256: str
    integrity: Integrity
    content: Content | None
    files: Files | None
    delivery: Delivery | None
    withdrawn: Withdrawn | None
    given_up: list[GivenUp]


class RunTasks(TypedDict):
    """Ids of tasks of a run: that record an attempt, search a frontier, or fail because a job file is broken."""

    records: list[str]
    searches: list[str]
    broken: list[str]


class ReleasePage(TypedDict):
    """The audit page of a run; `entry` is None if it has none, and only then `tasks` are told.

    `only_checks`: it was started to check only, so that it has none.
    `waiting` are the ids of tasks whose release waits for approval.
    """

    dag_id: str
    run_id: str
    task_id: str | None
    run_state: str | None
    only_checks: bool
    tasks: RunTasks | None
    chain: Chain
    pending: list[PendingOutline]
    waiting: list[str]
    entries: list[Outline]
    entry: Audit | None


class Leaves(TypedDict):
    """Columns by what becomes of them, and what suppressed records still show.

    `pseudonymized` and `shifted` say in words by which key, `transformed` how.
    """

    removed: list[str]
    pseudonymized: list[str]
    shifted: list[str]
    transformed: list[str]
    generalized: list[str]
    sensitive: list[str]
    insensitive: list[str]
    suppressed: str


class CertificatePage(TypedDict):
    """The certificate of a release; it may be filed only if `valid`, otherwise `objections` say why not."""

    dag_id: str
    run_id: str
    entry: Audit
    leaves: Leaves | None
    valid: bool
    objections: list[str]
    anchor: str
    command: str

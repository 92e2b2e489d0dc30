"""Many writers at once make one chain; one that is killed leaves its entry whole, or nothing of it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.documents import HASH, document
from tests.airflow_anon.ledger.tables import is_unbroken
from tests.profiles import thorough

APPEND_MANY = """
import json, sys
from airflow_anon.ledger.store import Ledger

ledger = Ledger(sys.argv[1])
for line in sys.stdin:
    ledger.append(json.loads(line))
"""

APPEND_WHEN_TOLD = """
import alembic.command, json, sys
from airflow_anon.ledger.store import Ledger

ledger = Ledger(sys.argv[1])
print("ready", flush=True)
ledger.append(json.loads(sys.stdin.readline()))
"""

KILLED = 9
WRITERS = 4 if thorough() else 2
"""Processes of which each is the first one to write."""

MOMENTS = ["before_cursor_execute", "commit", "after_cursor_execute"]
"""When a writer is killed; what the last one leaves, the first one of the next statement leaves as well."""


def killed_at(statement, ledger_url, moment, *work):
    """Do work on the ledger in a forked process that ends, without any clean-up, at the statement of that number.

    Before it is sent, or after it was executed. Return the exit status, 0 for a process that came to its end.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            seen = itertools.count(1)
            sa.event.listen(sa.Engine, moment, lambda *_: os._exit(KILLED) if next(seen) == statement else None)
            ledger = Ledger(ledger_url)
            for method, arguments in work:
                getattr(ledger, method)(*arguments)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(script, *arguments, lines):
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input="\n".join(json.dumps(line) for line in lines),
        text=True,
        capture_output=True,
        check=False,
    )


def test_threads_and_processes_that_append_at_once_make_one_chain(ledger_url):
    """Half of the documents are given to two writers, so that each is a race for the same entry."""

    def shared(writer):
        return [document(number, ("released", "refused")[number % 2]) for number in range(writer * 5, writer * 5 + 10)]

    with ThreadPoolExecutor(8) as pool:
        processes = [pool.submit(run, APPEND_MANY, ledger_url, lines=shared(writer)) for writer in range(3)]
        threads = [pool.submit(lambda own: [Ledger(ledger_url).append(d) for d in own], shared(w)) for w in range(3, 7)]
        assert [done.result().stderr for done in processes] == [""] * 3
        written = [done.result() for done in threads]
    entries = Ledger(ledger_url).entries()
    assert len({entry.run_id for entry in entries}) == len(entries) == 40
    assert {entry for own in written for entry in own} <= set(entries)
    assert Ledger(ledger_url).check() == []
    assert is_unbroken(ledger_url)


def test_processes_that_make_the_ledger_at_once_make_one(ledger_url):
    """Each has imported everything before the first of them is let go."""
    command = [sys.executable, "-c", APPEND_WHEN_TOLD, ledger_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen(command, **pipes) for _ in range(WRITERS)]
    try:
        assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * WRITERS
        for number, writer in enumerate(writers):
            writer.stdin.write(json.dumps(document(number)) + "\n")
            writer.stdin.flush()
        assert [writer.communicate()[1] for writer in writers] == [""] * WRITERS
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert len(Ledger(ledger_url).entries()) == WRITERS
    assert is_unbroken(ledger_url)


@pytest.mark.thorough
def test_a_check_during_writing_gives_no_false_alarm(ledger, ledger_url):
    ledger.append(document(0))
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(run, APPEND_MANY, ledger_url, lines=[document(number) for number in range(1, 80)])
        found = []
        while not writing.done():
            found += [*ledger.check(), *ledger.check_chain()]
    assert writing.result().stderr == ""
    assert found == []
    assert len(ledger.entries()) == 80


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS if thorough() else MOMENTS[:2])
def test_a_writer_that_is_killed_leaves_all_or_nothing(ledger, ledger_url, moment):
    ledger.append(document(0))
    statement, ended, step = 0, KILLED, 1 if thorough() or moment == "commit" else 2
    while ended:
        statement += step
        work = [("begin", [document(statement)]), ("complete", ["visits", f"release-{statement}", HASH])]
        ended = killed_at(statement, ledger_url, moment, *work)
        assert ended in {KILLED, 0}
        assert ledger.check() == []
        assert is_unbroken(ledger_url)
        has_entry = ledger.released("visits", f"release-{statement}") is not None
        is_pending = [row.release_id for row in ledger.pending()] == [f"release-{statement}"]
        assert not (has_entry and is_pending)
        # The retry: whatever was left, it ends with the entry, and nothing pending.
        assert killed_at(0, ledger_url, moment, *work) == 0
        assert ledger.released("visits", f"release-{statement}") is not None
        assert ledger.pending() == []
    assert statement > 2
    assert len(ledger.entries()) == statement / step + 1


@pytest.mark.slow
def test_a_first_writer_that_is_killed_while_it_migrates_leaves_all_or_nothing(ledger_url, tmp_path):
    """Each try is on what the one before left; the migration goes on from nothing until it is there as a whole."""
    statement, ended = 0, KILLED
    while ended:
        statement += 3
        ended = killed_at(statement, ledger_url, "after_cursor_execute", ("append", [document(1)]))
        ledger = Ledger(ledger_url)
        assert ended in {0, KILLED}
        assert ledger.check() == []
        assert len(ledger.entries()) in {0, 1}
        assert ended or ledger.exists()
    assert statement > 10
    assert is_unbroken(ledger_url)

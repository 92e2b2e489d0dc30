"""What leaves a task when something unforeseen ends it: no cell, header or password that an exception may quote."""

from __future__ import annotations

import errno
import io
import logging
import os
import traceback

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSkipException
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.run.refusal import XCOM_KEY, told
from airflow_anon.run.unexpected import own_words
from engine import InvalidData
from tests.profiles import examples

PLANTED = "Zq7Roe"


class Task:
    """An operator with a log that is kept, and a task instance that keeps what is pushed."""

    def __init__(self, execute):
        self.text = io.StringIO()
        self.log = logging.getLogger(f"task-{id(self)}")
        self.log.addHandler(logging.StreamHandler(self.text))
        self.pushed = {}
        self._execute = execute

    def xcom_push(self, key, value):
        self.pushed[key] = value

    def ended(self, wrap):
        """Give the exception that leaves the task, and all that a log, an XCom and a traceback say of it."""
        with pytest.raises(Exception) as caught:
            wrap(lambda *_: self._execute())(self, {"ti": self})
        shown = "".join(traceback.format_exception(caught.value))
        return caught.value, self.text.getvalue() + repr(self.pushed) + shown


def raising(*problems):
    """Raise the first, each one caused by the next."""

    def execute():
        if len(problems) == 1:
            raise problems[0]
        try:
            raising(*problems[1:])()
        except Exception as cause:
            if isinstance(problems[0], AirflowException):
                raise problems[0] from cause
            raise problems[0]  # noqa: B904 (its context is printed too)

    return execute


FOREIGN = [ValueError, KeyError, RuntimeError, pa.ArrowInvalid, UnicodeError, OSError, ArithmeticError]


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(FOREIGN), min_size=1, max_size=3), st.sampled_from([told, own_words]))
def test_no_text_of_a_foreign_exception_leaves_a_task(kinds, wrap):
    problem, said = Task(raising(*(kind(f"value {PLANTED}") for kind in kinds))).ended(wrap)
    assert PLANTED not in said
    assert type(problem) is AirflowException
    assert f"ended unexpectedly with {kinds[0].__name__}" in str(problem)
    assert "test_unexpected.py" in said


@pytest.mark.parametrize("wrap", [told, own_words])
@pytest.mark.parametrize("kind", [AirflowException, AirflowFailException, AirflowSkipException, InvalidData])
def test_our_own_words_pass_without_their_cause(kind, wrap):
    problem, said = Task(raising(kind("column 'age': is empty"), ValueError(PLANTED))).ended(wrap)
    assert type(problem) is kind
    assert str(problem) == "column 'age': is empty"
    assert PLANTED not in said


@pytest.mark.parametrize("wrap", [told, own_words])
def test_an_error_of_the_system_is_named(wrap):
    full = OSError(errno.ENOSPC, f"Error writing {PLANTED}", "/staging/data.parquet")
    problem, said = Task(raising(full)).ended(wrap)
    begin = f"ended unexpectedly with OSError: {os.strerror(errno.ENOSPC)}: /staging/data.parquet; make room "
    assert str(problem).startswith(begin)
    assert PLANTED not in said


def test_a_copy_names_the_target_too():
    """It is the disk of the target that is full, and Python names the source first."""
    full = OSError(errno.ENOSPC, "full", "/staging/data.parquet", None, "/share/data.parquet")
    problem, _ = Task(raising(full)).ended(told)
    assert ": /staging/data.parquet -> /share/data.parquet; make room " in str(problem)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_place_that_may_not_be_written_is_to_be_opened(number):
    task = Task(raising(OSError(number, "closed", "/share/data.parquet")))
    problem, _ = task.ended(told)
    assert f"{os.strerror(number)}: /share/data.parquet; let the user that runs the tasks write there" in str(problem)
    assert "let the user that runs the tasks write there" in task.pushed[XCOM_KEY]["message"]


def test_another_error_of_the_system_asks_for_no_room():
    problem, _ = Task(raising(OSError(errno.EIO, "broken", "/share/data.parquet"))).ended(told)
    assert str(problem).endswith(f"{os.strerror(errno.EIO)}: /share/data.parquet")


@pytest.mark.parametrize("kind", [MemoryError, pa.ArrowMemoryError])
def test_a_lack_of_memory_says_what_to_do(kind):
    """The log, and who reads the ledger, get the same words; the sizes in a library's text are not needed."""
    task = Task(raising(kind(f"malloc of {PLANTED} failed")))
    problem, said = task.ended(told)
    for text in (str(problem), task.pushed[XCOM_KEY]["message"]):
        assert "there was not enough memory; give the task more" in text
    assert PLANTED not in said


def test_the_task_that_records_is_told_the_kind():
    task = Task(raising(pa.ArrowInvalid(PLANTED)))
    task.ended(told)
    assert task.pushed[XCOM_KEY]["error"] == "ArrowInvalid"

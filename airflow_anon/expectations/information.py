"""Whether a release tells anything apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_table import MARK
from engine import TABLE_COLUMN, Finding, Message

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable


class ExpectSomethingToTellApart(ReleaseExpectation):
    """Some record of the release has a label other than `*`.

    Parameters
    ----------
    quasi_identifiers : list of str
    linked : bool
        Whether these are the records of several tables: which of them tells nobody apart, nor does a missing value,
        which stands for a column that a table lacks.
    """

    quasi_identifiers: list[str]
    linked: bool

    success_keys: ClassVar[tuple[str, ...]] = ("quasi_identifiers",)
    template: ClassVar[str] = "Some record must have a label other than * in one of $quasi_identifiers."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers."""
        return self.quasi_identifiers

    def judge(self, release: ClassTable) -> Finding:
        """Look at the labels of each class; a missing value is another label."""
        labels = release.text().to_pandas(types_mapper=pd.ArrowDtype)
        if self.linked:
            place = str(list(release.labels).index(TABLE_COLUMN))
            labels = labels.drop(columns=place)
        told = bool(labels.fillna(MARK if self.linked else "").ne(MARK).to_numpy(bool).any())
        message = "some records are told apart" if told else "every record is * in every quasi-identifier"
        return Finding(self.expectation_type, told, None, None, None, Message(message))

"""Pseudonyms and shifted dates of a release, made again from the staged source and the keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.file_texts import read_table, texts_of
from airflow_anon.expectations.labels_of_values import labels_of
from airflow_anon.expectations.lacked_columns import in_their_tables
from airflow_anon.expectations.person_keys import PSEUDONYM_DIGITS, key_for, pseudonym
from engine import Finding, InvalidData

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable

_FORM = re.compile(f"[0-9a-f]{{{PSEUDONYM_DIGITS}}}")
_NONE = "-"
_VALUE = "value"


class ExpectReplacedColumns(ReleaseExpectation):
    """Identifying columns show pseudonyms of the source's identifiers, and columns of dates its dates, shifted.

    No pseudonym may be an identifier of the source, and suppressed records have none. What the records of a cell show
    must be shown by as many records of the source at least that are of this cell at the levels of the report.

    Parameters
    ----------
    quasi_identifiers : list of str
    pseudonymized : list of str
    shifted : list of str
        Columns of shifted dates that are not generalized.
    keys : dict of str to str
        Of each pseudonymized column its key, hexadecimal; not published.
    source : dict
        Where the extracted table is, and how its values are read: as of `source_of`; not published.
    """

    quasi_identifiers: list[str]
    pseudonymized: list[str]
    shifted: list[str]
    keys: dict[str, str]
    source: dict[str, Any]

    success_keys: ClassVar[tuple[str, ...]] = ("quasi_identifiers", "pseudonymized", "shifted")
    template: ClassVar[str] = (
        "$pseudonymized must show pseudonyms of the source's identifiers, none on suppressed records, and $shifted its "
        "dates, shifted by the days of each person."
    )

    def read_columns(self) -> list[str]:
        """Quasi-identifiers, pseudonyms and dates."""
        return [*self.quasi_identifiers, *self.pseudonymized, *self.shifted]

    def judge(self, release: ClassTable) -> Finding:
        """Compare each column with the source."""
        if self.source["people"]["path"] is None:
            raise InvalidData("only the extracted source has the identifiers and dates, and it is not given")
        table = read_table(self.source["people"], "source")
        wanted = [*self.quasi_identifiers, *self.pseudonymized, *self.shifted]
        if not set(wanted) <= set(table.column_names):
            raise InvalidData("source: lacks columns of the release; give the extracted one")
        texts = texts_of(table.select(wanted), "source")
        cells = self._cells(texts)
        values = {name: _plain(texts[name]) for name in [*self.pseudonymized, *self.shifted]}
        wrong = [name for name in self.pseudonymized if not self._has_pseudonyms(name, values[name], cells, release)]
        wrong += [name for name in self.shifted if not self._has_dates(name, values[name], cells, release)]
        return Finding(
            self.expectation_type,
            holds=not wrong,
            observed=len(wrong),
            required=0,
            column=None,
            message=f"not those of the source: {', '.join(wrong)}" if wrong else "all are those of the source",
        )

    @property
    def _places(self) -> list[str]:
        """Columns of labels: a name of the release might be that of a column beside them."""
        return [str(place) for place in range(len(self.quasi_identifiers))]

    def _cells(self, texts: pd.DataFrame) -> pd.DataFrame:
        """Return the labels of the source at the levels of the report, columns named by their place."""
        found = {}
        for place, name in zip(self._places, self.quasi_identifiers, strict=True):
            column, _ = labels_of(name, texts[name], self.source["attributes"][name], self.source["levels"][name])
            found[place] = _plain(in_their_tables(name, column, self.source, texts))
        return pd.DataFrame(found)

    def _has_pseudonyms(self, name: str, identifiers: pd.Series, cells: pd.DataFrame, release: ClassTable) -> bool:
        shown = self._shown(name, release)
        values = shown[_VALUE].dropna()
        starred = (shown[self._places] == MARK).all(axis=1)
        if shown.loc[starred, _VALUE].notna().any() or not values.map(_FORM.fullmatch).notna().all():
            return False
        if values.isin(set(identifiers.dropna())).any():
            return False
        key = bytes.fromhex(self.keys[name])
        made = identifiers.map({text: pseudonym(key, text) for text in identifiers.dropna().unique()})
        return self._is_within(shown[~starred], cells.assign(**{_VALUE: made}))

    def _has_dates(self, name: str, dates: pd.Series, cells: pd.DataFrame, release: ClassTable) -> bool:
        shown = self._shown(name, release)
        starred = (shown[self._places] == MARK).all(axis=1)
        dated = cells.assign(**{_VALUE: dates})
        everywhere = dict.fromkeys(self._places, MARK)
        return self._is_within(shown[~starred], dated) and self._is_within(
            shown.assign(**everywhere), dated.assign(**everywhere)
        )

    def _shown(self, name: str, release: ClassTable) -> pd.DataFrame:
        """Return the distinct labels and values of the release with their records: places, `value`, `records`."""
        counted = release.counted(name)
        texts = counted.select([*self.quasi_identifiers, name])
        columns = [column.cast(pa.string()) for column in texts.columns]
        frame = pa.Table.from_arrays(columns, names=[*self._places, _VALUE]).to_pandas().astype(object)
        frame = frame.where(frame.notna(), None)
        return frame.assign(records=counted[release.count].to_numpy())

    def _is_within(self, shown: pd.DataFrame, source: pd.DataFrame) -> bool:
        """Tell whether the source has each combination of labels and value as often as it is shown, or more often."""
        keys = [*self._places, _VALUE]
        there = source[keys].fillna(_NONE).groupby(keys).size().rename("there").reset_index()
        stated = shown.assign(**{key: shown[key].fillna(_NONE) for key in keys}).groupby(keys)["records"].sum()
        both = stated.reset_index().merge(there, on=keys, how="left")
        return bool((both["records"] <= both["there"].fillna(0)).all())


def _plain(texts: pd.Series) -> pd.Series:
    """Return texts with None where there is none."""
    return texts.astype(object).where(texts.notna(), None)


def pseudonym_keys(job: Any, keys: dict[str, str]) -> dict[str, str]:
    """Return the key of each pseudonymized column of a job, hexadecimal.

    Parameters
    ----------
    keys : dict of str to str
        Secrets by key of the job: `attributes.NAME`.

    Raises
    ------
    ValueError
        One is not given.
    """
    lacking = [name for name in job.pseudonymized if f"attributes.{name}" not in keys]
    if lacking:
        raise ValueError(f"keys: those of the pseudonyms of {', '.join(lacking)} are not given; run deidentify again")
    return {
        name: key_for(keys[f"attributes.{name}"], "pseudonym", job.name, job.family(name)).hex()
        for name in job.pseudonymized
    }

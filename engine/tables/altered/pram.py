"""Post-randomization: some records draw another category, by a matrix under which the shares stay as they are.

In: the categories of a column and draws from 0 to 1. Out: categories of the same column. From a first matrix P, which
keeps a category with probability pd and draws each other one equally often, the posterior Q is made: what a category
was before, given what it is after. A record that goes through both has the distribution it came from, so R = P Q is
invariant, and so is alpha R + (1 - alpha) I. (Gouweleeuw, Kooiman, Willenborg, de Wolf, Post randomisation for
statistical disclosure control: theory and implementation, Journal of Official Statistics 14(4), 1998; pd and alpha as
in sdcMicro's pram, which draws the diagonal of P from pd to 1, where here it is pd.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import type_name

MOST = 1000
"""Categories of a column: the matrix has the square of that."""
_CATEGORIES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
)


def refuse_other_than_categories(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose values are no categories.

    Raises
    ------
    InvalidData
        Names the column, its type and the fix.
    """
    if not any(is_kind(kind) for is_kind in _CATEGORIES):
        raise InvalidData(
            f"column {name!r}: is {type_name(kind)}, and pram needs text, whole numbers, booleans or dates; convert it "
            "in the source query, or take noise for numbers"
        )


def invariant_matrix(counts: NDArray[np.int64], pd: float, alpha: float) -> NDArray[np.float64]:
    """Return the probabilities of each category (row) to become each one (column), float64, shape (L, L).

    Parameters
    ----------
    counts : int64, shape (L,)
        Records of each category, at least one; L is at least 2.
    """
    number = counts.size
    shares = counts / counts.sum()
    first = np.full((number, number), (1 - pd) / (number - 1))
    np.fill_diagonal(first, pd)
    # row k: what a record of category k after the first matrix was before it
    joint = shares[:, np.newaxis] * first
    posterior = (joint / joint.sum(axis=0)).T
    found: NDArray[np.float64] = alpha * (first @ posterior) + (1 - alpha) * np.eye(number)
    return found


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of a column, in the order of their texts.

    Attributes
    ----------
    values : pyarrow Array, shape (L,)
        Of the column's own type.
    cumulated : float64, shape (L, L)
        Of each category, the cumulated probabilities of what it becomes.
    """

    values: pa.Array
    cumulated: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        name: str,
        columns: Iterable[pa.Array],
        kind: pa.DataType,
        missing: Collection[str],
        matrix: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    ) -> Categories:
        """Return the categories of a column that is read once, batch by batch.

        Parameters
        ----------
        kind : pyarrow DataType
            Of the arrays, without dictionaries.
        missing : collection of str
            Texts that mean a missing value: their records keep them.
        matrix : callable
            Returns the probabilities by the records of each category, as `invariant_matrix`.

        Raises
        ------
        InvalidData
            The column holds no categories, only one, or too many.
        """
        refuse_other_than_categories(name, kind)
        counts: Counter[str] = Counter()
        values: dict[str, pa.Scalar] = {}
        for column in columns:
            tallies = column.drop_null().value_counts()
            distinct = tallies.field(0)
            for place, text in enumerate(as_text(distinct, name).to_pylist()):
                if text not in missing:
                    counts[text] += tallies.field(1)[place].as_py()
                    # Python has no date after the year 9999
                    values.setdefault(text, distinct[place])
            if len(counts) > MOST:
                raise InvalidData(
                    f"column {name!r}: has more than {MOST} categories, and pram allows so many at most; join some in "
                    "the source query"
                )
        if len(counts) < 2:  # noqa: PLR2004 (there must be another one)
            raise InvalidData(
                f"column {name!r}: has fewer than 2 categories, so that pram changes nothing; take it out"
            )
        texts = sorted(counts)
        found = matrix(np.array([counts[text] for text in texts], np.int64))
        return cls(pa.array([values[text] for text in texts], kind), np.cumsum(found, axis=1))

    def drawn(self, column: pa.Array, uniform: NDArray[np.float64]) -> pa.Array:
        """Return categories after the draw; missing ones stay.

        Parameters
        ----------
        uniform : float64, shape (n,)
            Above 0 and below 1.
        """
        codes = pc.fill_null(pc.index_in(column, value_set=self.values, skip_nulls=True), -1).to_numpy()
        made = codes.astype(np.int64)
        for code in np.unique(codes[codes >= 0]).tolist():
            own = codes == code
            found = np.searchsorted(self.cumulated[code], uniform[own], side="right")
            # sums of shares may end below 1
            made[own] = np.minimum(found, len(self.values) - 1)
        taken = self.values.take(pa.array(made, mask=made < 0))
        return pc.if_else(pa.array(made < 0), column, taken)

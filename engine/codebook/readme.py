"""`README.md` of a release: what its columns hold, how they are read, and what must not be concluded from them.

In: the codebook. Out: Markdown text for researchers, who have the folder and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.codebook.document import Codebook, DescribedColumn

_TEXT = """\
# {name}

A de-identified table: {records} in `data.parquet`. `codebook.json` describes its columns for programs, `report.json`
how it was made and what it lost, and `job.yaml` what was asked for.

## Columns

{columns}

## How to read them

{reading}

## What must not be concluded

{warnings}

## What is promised

{criteria}

The criteria count {counted}. Nobody may try to find out whose a record is.

## Open it

In Python, with the labels of each column as categories in their order, and after a check that nothing was changed:

```python
import airflow_anon

table = airflow_anon.read(".")  # this folder; a pandas DataFrame
```

With `ends=True` there are also columns with the numbers or dates where the values of a label begin and end. Any program
that reads Parquet reads `data.parquet`.

## Cite it

Name the table ({name}), who released it, and the SHA-256 of `data.parquet`, which is in `manifest.json`: the release of
another night has another one.
"""


def readme(codebook: Codebook) -> str:
    """Return the text."""
    return _TEXT.format(
        name=codebook["name"],
        records=_records(codebook["records"]),
        columns="\n".join(_table(codebook)),
        reading=_list(_reading(codebook)),
        warnings=_list(_warnings(codebook)),
        criteria=_list(codebook["criteria"]),
        counted=codebook["counted"],
    )


def _table(codebook: Codebook) -> Iterator[str]:
    yield "| column | type | holds | distinct | missing |"
    yield "| --- | --- | --- | ---: | ---: |"
    for column in codebook["columns"]:
        distinct, missing = (column.get(key, "") for key in ("distinct", "missing"))
        yield f"| {_cell(column['column'])} | {column['type']} | {_holds(column)} | {distinct} | {missing} |"


_HOLDS = {
    "as-in-the-source": "the values of the source",
    "pseudonym": "pseudonyms, each for one identifier",
    "shifted": "dates that were moved",
}


def _holds(column: DescribedColumn) -> str:
    if column["what"] in _HOLDS:
        return _HOLDS[column["what"]]
    if column["what"] == "exact":
        return "the values of the source; `*` where suppressed"
    if column["what"] == "one-label":
        return "one label for all values: nothing is left of this column"
    return f"labels of level {column['level']} of {column['levels'] - 1}, for several values each"


def _reading(codebook: Codebook) -> Iterator[str]:
    for column in codebook["columns"]:
        if "notation" in column:
            yield f"{_cell(column['column'])}: {column['notation']}."
        if column.get("shifted"):
            yield (
                f"{_cell(column['column'])}: its dates were moved, all dates of a person by the same number of days. "
                "The time between two of them is as in the source; calendar dates and seasons are not."
            )
    if codebook["suppressed"]:
        share = codebook["suppressed"] / codebook["records"]
        yield (
            f"`*` in every generalized column: {_records(codebook['suppressed'])} ({share:.2%}) are suppressed, "
            "since too few others were like them. Their other columns are as in the source."
        )
    yield "The order of the records is random and means nothing."
    yield "An empty cell is a value that is missing in the source."


def _warnings(codebook: Codebook) -> Iterator[str]:
    linked = [_cell(column["column"]) for column in codebook["columns"] if column["what"] == "pseudonym"]
    if linked:
        yield f"Records with the same pseudonym ({', '.join(linked)}) belong together; nothing else tells which do."
    elif codebook["counted"] == "records":
        yield "A record is not a person: the table may have several records of one person, and does not tell which."
    else:
        yield "A person may have several records, and the table does not tell which belong together."
    if codebook["suppressed"] or codebook["left_out"]:
        where = "may be missing from the table" if codebook["left_out"] else "have `*`"
        yield (
            f"Suppressed records {where}. They are no random sample: they are those with rare combinations of values, "
            "so that rare groups seem rarer than they are."
        )
    yield (
        "A label does not say where in it a value is: the middle of an interval is not the mean of its records, and "
        "differences inside a label cannot be studied."
    )
    if linked:
        yield "Two releases of this table may have different levels."
    else:
        yield "Two releases of this table cannot be joined record by record, and may have different levels."


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number:,} records"


def _cell(text: str) -> str:
    """Write a name inside a Markdown table."""
    plain = text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;")
    return " ".join(plain.split())

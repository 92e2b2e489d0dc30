"""`README.md` of a release: what its columns hold, how they are read, and what must not be concluded from them.

In: the codebook. Out: Markdown text for researchers, who have the folder and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from engine.codebook.document import Codebook, DescribedColumn
from engine.codebook.markdown_text import markdown_text
from engine.codebook.r_snippet import r_snippet
from engine.codebook.treatment import holds
from engine.tables.release_files import DATA

_TEXT = """\
# {name}

{what}. `codebook.json` describes {its} columns for programs, `report.json` how {it} made and what {it_lost}, and
`job.yaml` what was asked for.

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

{reads}
```

With `ends=True` there are also columns with the numbers or dates where the values of a label begin and end, and with
`numbers=True` exact columns are numbers or dates instead of text. Any program that reads Parquet reads {files}.

{further}## Cite it

Name {cited} ({name}), who released it, and the SHA-256 of {files}, which is in `manifest.json`: the release of
another night has another one.
"""
_ONE = {
    "what": "A de-identified table: {records} in `data.parquet`",
    "its": "its",
    "it": "it was",
    "it_lost": "it lost",
    "reads": 'table = airflow_anon.read(".")  # this folder; a pandas DataFrame',
    "files": "`data.parquet`",
    "cited": "the table",
}
_SEVERAL = {
    "what": "De-identified tables that belong together, {records} in all: {tables}",
    "its": "their",
    "it": "they were",
    "it_lost": "they lost",
    "reads": 'table = airflow_anon.read(".", table="{first}")  # this folder; a pandas DataFrame',
    "files": "the files of the tables",
    "cited": "the tables",
}


_FURTHER = {
    "csv": """\
`{csv}` has the same records in the same order, in UTF-8, with every text in quotes; a missing value is an empty cell
without quotes. In R, without packages:

```r
{r}
```

A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula: import its columns as text.

""",
    "dta": """\
`{dta}` has the same records in the same order for Stata: labels are value labels in their order, and what was done to
a column is the label of its variable. A missing text is an empty one there.

""",
    "sav": """\
`{sav}` has the same records in the same order for SPSS: labels are value labels in their order, and what was done to
a column is the label of its variable. A missing text is an empty one there.

""",
}


def readme(codebook: Codebook, formats: Sequence[str] = ()) -> str:
    """Return the text.

    Parameters
    ----------
    formats : sequence of str
        In which the records are released beside Parquet.
    """
    tables = codebook.get("tables", [])
    told = {
        "records": _records(codebook["records"]),
        "tables": ", ".join(f"{_records(one['records'])} in `{one['file']}`" for one in tables),
        "first": tables[0]["table"] if tables else "",
    }
    return _TEXT.format(
        **{key: text.format(**told) for key, text in (_SEVERAL if tables else _ONE).items()},
        name=codebook["name"],
        columns="\n".join(_all_columns(codebook)),
        reading=_list(_reading(codebook)),
        warnings=_list(_warnings(codebook)),
        criteria=_list(map(markdown_text, codebook["criteria"])),
        counted=codebook["counted"],
        further="".join(_further(codebook, one) for one in formats),
    )


def _further(codebook: Codebook, form: str) -> str:
    tables = codebook.get("tables", [])
    name = Path(tables[0]["file"] if tables else DATA).with_suffix(f".{form}").name
    columns = tables[0]["columns"] if tables else codebook["columns"]
    return _FURTHER[form].format(**{form: name}, r=r_snippet(name, columns))


def _all_columns(codebook: Codebook) -> Iterator[str]:
    if "tables" not in codebook:
        yield from _table(codebook, codebook["columns"])
    for position, table in enumerate(codebook.get("tables", [])):
        yield from [""] if position else []
        yield f"### {markdown_text(table['table'])}"
        yield ""
        yield from _table(codebook, table["columns"])


def _columns(codebook: Codebook) -> list[DescribedColumn]:
    """Return the columns of all tables; one of several tables once."""
    found = [*codebook["columns"], *(one for table in codebook.get("tables", []) for one in table["columns"])]
    return list({one["column"]: one for one in found}.values())


def _table(codebook: Codebook, columns: Iterable[DescribedColumn]) -> Iterator[str]:
    yield "| column | type | holds | distinct | missing |"
    yield "| --- | --- | --- | ---: | ---: |"
    for column in columns:
        distinct, missing = (column.get(key, "") for key in ("distinct", "missing"))
        held = holds(column, starred=bool(codebook["suppressed"])).replace("*", "`*`")
        yield f"| {markdown_text(column['column'])} | {column['type']} | {held} | {distinct} | {missing} |"


def _reading(codebook: Codebook) -> Iterator[str]:
    for column in _columns(codebook):
        name = markdown_text(column["column"])
        if "notation" in column:
            yield f"{name}: {column['notation']}."
        if column.get("shifted"):
            yield (
                f"{name}: its dates were moved, all dates of a person by the same number of days. "
                "The time between two of them is as in the source; calendar dates and seasons are not."
            )
        yield from _transformed(column)
    if codebook["suppressed"]:
        share = codebook["suppressed"] / codebook["records"]
        yield (
            f"`*` in every generalized column: {_records(codebook['suppressed'])} ({share:.2%}) are suppressed, "
            "since too few others were like them. Their other columns are there."
        )
    yield (
        "The records are sorted by their labels, and in random order where these are alike: the first of them are no "
        "sample of the table. Draw one at random."
    )
    yield "An empty cell is a value that is missing in the source."


def _transformed(column: DescribedColumn) -> Iterator[str]:
    name = markdown_text(column["column"])
    coding = column.get("coding", {})
    done = [
        words.format(f"{coding[key]:.15g}")
        for key, words in (
            ("round_to", "rounded to multiples of {}"),
            ("bottom", "{0} means {0} or less"),
            ("top", "{0} means {0} or more"),
        )
        if key in coding
    ]
    if done:
        yield f"{name}: its numbers are coded: {'; '.join(done)}."
    if "noise" in column:
        yield from _noise(name, column["noise"]["percent"])
    if "pram" in column:
        yield (
            f"{name}: some records have another category than in the source, drawn at random. The "
            "share of each category is as in the source but for chance; what it has to do with other columns is weaker "
            "than in the source."
        )
    if column.get("aggregate") == "mdav":
        yield (
            f"{name}: each record has the mean of a small group of alike records with the same "
            f"labels{' after this coding' if done else ''}, not its own value. Means are kept; variances are smaller "
            "than in the source. Where it is empty there were too few values."
        )
    elif "aggregate" in column:
        yield (
            f"{name}: each record has the {column['aggregate']} of all records with the same labels"
            f"{' after this coding' if done else ''}, not its own value. The mean over records is kept only by means; "
            "variances and correlations are smaller than in the source. Where it is empty there were too few values."
        )


def _noise(name: str, percent: float) -> Iterator[str]:
    variance = 1 + (percent / 100) ** 2
    yield (
        f"{name}: each number has random noise, whose standard deviation is {percent:.15g}% of that of the column in "
        "the source, over the records that are here. Its mean is as in the source but for chance; its variance is "
        f"{variance:.4g} times that of the source: divide by this. Covariances with other columns are as in the source "
        f"but for chance, so divide correlations with them by {variance**-0.5:.4g}, and slopes of a regression on this "
        f"column by {1 / variance:.4g}."
    )


def _warnings(codebook: Codebook) -> Iterator[str]:
    several = "tables" in codebook
    these, does = ("the tables", "do") if several else ("the table", "does")
    linked = [markdown_text(column["column"]) for column in _columns(codebook) if column["what"] == "pseudonym"]
    if linked:
        yield f"Records with the same pseudonym ({', '.join(linked)}) belong together; nothing else tells which do."
    elif codebook["counted"] == "records":
        yield f"A record is not a person: {these} may have several records of one person, and {does} not tell which."
    else:
        yield f"A person may have several records, and {these} {does} not tell which belong together."
    if "sample" in codebook:
        yield (
            f"The records are a random sample, each drawn with probability {codebook['sample']:.15g}: divide counts by "
            "this to estimate those of the source, and do not conclude that a combination that is not here is nowhere."
        )
    if codebook["suppressed"] or codebook["left_out"]:
        where = f"may be missing from {these}" if codebook["left_out"] else "have `*`"
        yield (
            f"Suppressed records {where}. They are no random sample: they are those with rare combinations of values, "
            "so that rare groups seem rarer than they are."
        )
    if any(column["what"] == "mixed" for column in codebook["columns"]):
        yield (
            "Labels of several levels stand side by side, and overlap: a count of one value misses the records that "
            "have the same value under a coarser label. Count at the coarsest level that matters."
        )
    yield (
        "A label does not say where in it a value is: the middle of an interval is not the mean of its records, and "
        "differences inside a label cannot be studied."
    )
    releases = f"Two releases of {'these tables' if several else 'this table'}"
    if linked:
        yield f"{releases} may have different levels."
    else:
        yield f"{releases} cannot be joined record by record, and may have different levels."


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number:,} records"

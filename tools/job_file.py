"""Write docs/job-file.md, the reference of the job file: `make job-file`, or `python tools/job_file.py --check`.

In: the JSON Schema of the job file, and `tools/job_file_examples.yaml`. Out: one section per part of a job, with each
key, its type, its default and its meaning, and examples; with `--check` nothing is written, and the exit status is 1 if
the document is out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "job-file.md"
EXAMPLES = ROOT / "tools" / "job_file_examples.yaml"

TAGS = ("builder", "model", "measure")
"""Keys that say of which kind a part is."""
_TITLES = {
    "Source": "source",
    "Attribute": "attributes",
    "Coding": "attributes.coding",
    "Noise": "attributes.noise",
    "Pram": "attributes.pram",
    "LinkedTable": "tables",
    "SampleSettings": "sample",
    "UsefulnessSettings": "usefulness",
    "ShiftSettings": "shift",
    "SeriesSettings": "series",
    "Stability": "stability",
    "ChangeOnlyIf": "stability.change_only_if",
    "ChurnSettings": "churn",
    "DriftSettings": "drift",
    "IncrementalSettings": "incremental",
    "KnownRows": "knows",
    "Output": "output",
    "RecodingSettings": "recoding",
    "Search": "search",
    "Risk": "risk",
    "FrontierSettings": "frontier",
    "PopulationQuery": "frontier.population",
    "Rule": "choose",
    "ApprovalSettings": "approval",
    "DagSettings": "dag",
    "PodSettings": "dag.pod",
    "SparkSettings": "spark",
}
"""Headings of the parts that have no kind, in the order of the document."""
_GROUPS = {
    "builder": (
        "Hierarchies",
        "Values of `hierarchy` under `attributes`; [hierarchies.md](hierarchies.md) has their levels.",
    ),
    "model": ("Privacy models", "Entries of `privacy`; [criteria.md](criteria.md) has their definitions."),
    "measure": ("Utility measures", "Values of `utility`; [criteria.md](criteria.md) has their definitions."),
}
_BELOW = {
    "attributes": "[attributes](#attributes) by name",
    "tables": "[tables](#tables) by name",
    "hierarchy": "a [hierarchy](#hierarchies)",
    "hierarchies": "path of a file, or a mapping of names to [hierarchies](#hierarchies)",
    "privacy": "[privacy models](#privacy-models)",
    "utility": "a [utility measure](#utility-measures)",
}
"""What keys hold that have many forms."""
_HEAD = """# The job file

Every key of a job file, made by `make job-file` from the same source as `airflow-anon schema`. A job is YAML; unknown
keys are errors, and relative paths are relative to the file. `airflow-anon init` drafts one, and `airflow-anon check`
tries it without releasing anything. No number of records, people or values, such as `k` and `l`, may be above
{most:,}.
"""


def sections(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield per section its kind ("job", "part", or a tag), its heading and its schema, in order."""
    parts = schema["$defs"]
    yield "job", "job", schema
    for name, title in _TITLES.items():
        yield "part", title, parts[name]
    for tag in TAGS:
        tagged = [part for part in parts.values() if tag in part.get("properties", {})]
        for part in sorted(tagged, key=lambda part: heading(part, tag)):
            yield tag, heading(part, tag), part


def heading(part: Mapping[str, Any], tag: str) -> str:
    """Return the name of a kind, with its variants where several kinds have the name."""
    name: str = part["properties"][tag]["const"]
    variant = part["properties"].get("variant", {})
    if name != "l-diversity":
        return name
    return f"{name}, {', '.join([variant['const']] if 'const' in variant else variant['enum'])}"


def keys(part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the keys of a part but its tag."""
    for key, value in part["properties"].items():
        if not (key in TAGS and "const" in value):
            yield key, value


def document(schema: Mapping[str, Any], examples: Mapping[str, str]) -> str:
    """Return the text of the document."""
    # `_range` leaves out what no table reaches
    most = schema["$defs"]["KAnonymity"]["properties"]["k"]["maximum"]
    lines = [_HEAD.format(most=most)]
    last = ""
    for kind, title, part in sections(schema):
        if kind in _GROUPS and kind != last:
            lines.append("## {}\n\n{}\n".format(*_GROUPS[kind]))
        last = kind
        lines.append(f"{'###' if kind in _GROUPS else '##'} {title}\n")
        if kind != "job":
            lines.append(f"{_first_paragraph(part)}\n")
        rows = [_row(key, value, part) for key, value in keys(part)]
        if rows:
            lines.append("| key | value | default | meaning |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")
        lines.append(f"```yaml\n{examples[title].strip()}\n```\n")
    return "\n".join(lines)


def _first_paragraph(part: Mapping[str, Any]) -> str:
    return " ".join(str(part["description"]).split("\n\n")[0].split())


def _row(key: str, value: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    is_needed = key in part.get("required", ())
    default = "required" if is_needed else _default(value)
    meaning = str(value["description"]).replace("|", "\\|").replace("docs/search.md", "[search.md](search.md)")
    found = _type(value).replace("see below", _BELOW.get(key, "see the example"))
    return f"| `{key}` | {found} | {default} | {meaning} |"


def _default(value: Mapping[str, Any]) -> str:
    found = value.get("default")
    if found is None or found in ([], {}):
        return "none"
    if isinstance(found, Mapping):
        return "its defaults"
    return f"`{found if isinstance(found, str) else json.dumps(found)}`"


def _type(value: Mapping[str, Any]) -> str:
    """Say in a few words what a value may be."""
    if "$ref" in value:
        return _reference(value["$ref"])
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    for several in ("anyOf", "oneOf"):
        if several in value:
            return _several(value[several])
    return _plain(value)


def _several(options: list[Mapping[str, Any]]) -> str:
    if any("discriminator" in one or "/Age" in str(one) for one in options) or len(options) > 3:  # noqa: PLR2004
        return "see below"
    found = [_type(one) for one in options if one.get("type") != "null"]
    return " or ".join(dict.fromkeys(found))


def _plain(value: Mapping[str, Any]) -> str:
    names = {"string": "text", "boolean": "`true`, `false`", "integer": "whole number", "number": "number"}
    kind = value.get("type", "")
    if kind == "array":
        inner = _type(value["items"]) if isinstance(value.get("items"), Mapping) else "values"
        return f"list of {inner}" if "below" not in inner else "list, see below"
    if kind == "object":
        return "see below"
    return names.get(str(kind), "any") + _range(value)


def _range(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    words = []
    if "exclusiveMinimum" in value:
        words.append(f"above {_number(value['exclusiveMinimum'])}")
    elif low is not None:
        words.append(f"at least {_number(low)}")
    if "exclusiveMaximum" in value:
        words.append(f"below {_number(value['exclusiveMaximum'])}")
    elif high is not None and high < 10**9:
        words.append(f"at most {_number(high)}")
    return f", {', '.join(words)}" if words else ""


def _number(value: float) -> str:
    """Write whole numbers with all of their digits, in groups."""
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _reference(name: str) -> str:
    part = name.rpartition("/")[2]
    title = _TITLES.get(part)
    if title is None:
        return "see below"
    return f"[{title}](#{title.replace('.', '')})"


def main() -> int:
    """Write the document, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if the document is out of date")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from engine import job_schema  # noqa: PLC0415 (found by the path above)

    text = document(job_schema(), yaml.safe_load(EXAMPLES.read_text(encoding="utf-8")))
    if options.check:
        if DOCUMENT.read_text(encoding="utf-8") == text:
            return 0
        print(f"{DOCUMENT.relative_to(ROOT)} is out of date: run `make job-file`")
        return 1
    DOCUMENT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The JSON Schema of the job file, for editors and other tools."""

from __future__ import annotations

from typing import Any

from engine.job.job import Job

_TAGS = {"builder", "measure", "model"}
_UNTAGGED = {"CsvFile", "Loss"}
"""The kinds that a job file may name without their tag."""


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the job file."""
    schema = Job.model_json_schema()
    parts = schema["$defs"]
    # What validators accept before pydantic looks at it: the path of a file for a hierarchy, and a measure or a
    # hierarchy file without its tag. Every other kind needs its tag, or several would match.
    parts["Attribute"]["properties"]["hierarchy"]["anyOf"].insert(0, {"type": "string"})
    for name, part in parts.items():
        tags = {key for key, value in part["properties"].items() if "const" in value and key in _TAGS}
        if tags and name not in _UNTAGGED:
            part["required"] = sorted({*part.get("required", ()), *tags})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

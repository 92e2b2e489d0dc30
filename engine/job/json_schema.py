"""The JSON Schema of the job file, for editors and other tools."""

from __future__ import annotations

from typing import Any

from engine.job.job import Job
from engine.job.shared import EXTENDS, LIBRARY, SHARED

_TAGS = {"builder", "measure", "model"}
_UNTAGGED = {"CsvFile", "Loss"}
"""The kinds that a job file may name without their tag."""

_OF_LIBRARY = {
    "additionalProperties": False,
    "properties": {SHARED: {"description": "Name of a hierarchy of the library.", "type": "string"}},
    "required": [SHARED],
    "title": "Shared",
    "type": "object",
}


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the job file."""
    schema = Job.model_json_schema()
    parts = schema["$defs"]
    # What validators accept before pydantic looks at it: the path of a file for a hierarchy, and a measure or a
    # hierarchy file without its tag. Every other kind needs its tag, or several would match.
    hierarchy = parts["Attribute"]["properties"]["hierarchy"]["anyOf"]
    hierarchy.insert(0, {"type": "string"})
    library = {"additionalProperties": {"anyOf": [one for one in hierarchy if one != {"type": "null"}]}}
    hierarchy.append(_OF_LIBRARY)
    for name, part in parts.items():
        tags = {key for key, value in part["properties"].items() if "const" in value and key in _TAGS}
        if tags and name not in _UNTAGGED:
            part["required"] = sorted({*part.get("required", ()), *tags})
    schema["properties"] |= {
        EXTENDS: {
            "anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}],
            "description": "File or files whose keys count where the job says nothing; it may hold any key of a job.",
        },
        LIBRARY: {
            "anyOf": [{"type": "string"}, {"type": "object", **library}],
            "description": "Hierarchies by name, or the file that holds them; attributes name one: {shared: NAME}.",
        },
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

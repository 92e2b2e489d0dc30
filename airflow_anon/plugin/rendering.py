"""Renders documents as pages with Jinja templates, which escape everything and fail on undefined names."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import jinja2

from airflow_anon.observe.addresses import Addresses
from airflow_anon.plugin import words
from airflow_anon.plugin.assets import STATIC, library_styles, version
from airflow_anon.plugin.sparkline import sparkline


def render(template: str, document: Mapping[str, Any], addresses: Addresses) -> str:
    """Return the HTML page of a document."""
    return _environment().get_template(f"{template}.html").render(page=document, to=addresses, alone=None)


def render_alone(template: str, document: Mapping[str, Any], addresses: Addresses) -> str:
    """Return the page as a self-contained file: inline styles, no script, nothing to load."""
    styles = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in ("audit.css", "certificate.css"))
    # The style sheets are our own and hold no "</style".
    alone = {"styles": styles}
    return _environment().get_template(f"{template}.html").render(page=document, to=addresses, alone=alone)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("airflow_anon.plugin", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        loss=words.loss,
        percent=words.percent,
        number=words.number,
        figure=words.figure,
        signed=words.signed,
        moment=words.moment,
        coded=words.coded,
        duration=words.duration,
        size=words.size,
        written=words.written,
        cell=words.cell,
        json=_json,
    )
    environment.globals.update(library_styles=library_styles, sparkline=sparkline, version=version)
    return environment


def _json(value: Any) -> str:
    """Return JSON as text, which the template escapes like any other."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

"""Fixtures for the image's files: its programs as modules, its Dockerfile and its compose file as data."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.places import ROOT


@pytest.fixture(scope="session")
def docker_folder() -> Path:
    """Give the folder `docker/`."""
    return ROOT / "docker"


@pytest.fixture(scope="session")
def program(docker_folder: Path) -> Callable[[str], ModuleType]:
    """Give a function that loads a program of the image as a module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"docker_{name}", docker_folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def compose(docker_folder: Path) -> dict[str, Any]:
    """Give compose.yaml with its anchors resolved."""
    return yaml.safe_load((docker_folder / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def instructions(docker_folder: Path) -> list[tuple[str, str]]:
    """Give the Dockerfile's instructions in order, as pairs (name, arguments), continued lines joined."""
    text = (docker_folder / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined]

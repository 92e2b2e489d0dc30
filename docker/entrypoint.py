#!/usr/bin/env python3

"""First process of every container: put secrets into its environment, then become the command.

In: the environment, in whose values `{secret:NAME}` is replaced by the content of the file NAME in the folder
`AIRFLOW_ANON_SECRETS` (default: where Docker mounts secrets), percent-encoded if the value is a URL. Out: the
command as this same process, with the secrets filled in, the UI's passwords in a private file, and the compiled kernels
in a folder where they can be loaded. If something is missing, the container ends with a message and status 2.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

_SECRETS = "AIRFLOW_ANON_SECRETS"
_PASSWORDS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
_USERS = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"
_PLACEHOLDER = re.compile(r"\{secret:([A-Za-z0-9_.-]+)\}")


class StartError(Exception):
    """The container cannot start; the message says what to change, and holds no secret."""


def read_secret(folder: Path, name: str) -> str:
    """Return a secret without the line end.

    Raises
    ------
    StartError
        It cannot be read, or is empty.
    """
    fix = "create it with docker/make-secrets.sh and list it under `secrets` of the service"
    try:
        secret = (folder / name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "not UTF-8"
        raise StartError(f"secret {folder / name}: cannot be read ({reason}); {fix}") from None
    if not secret:
        raise StartError(f"secret {folder / name}: is empty; {fix}")
    return secret


def with_secrets(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment with every placeholder filled in.

    Raises
    ------
    StartError
        A secret cannot be read; the message names the variable.
    """
    return {name: _filled(name, value, folder) for name, value in environment.items()}


def _filled(name: str, value: str, folder: Path) -> str:
    is_url = "://" in value

    def secret(found: re.Match[str]) -> str:
        try:
            content = read_secret(folder, found[1])
        except StartError as problem:
            raise StartError(f"environment variable {name}: {problem}") from None
        return quote(content, safe="") if is_url else content

    return _PLACEHOLDER.sub(secret, value)


def write_passwords(environment: Mapping[str, str], folder: Path) -> None:
    """Copy the secret `ui_passwords` to a place where Airflow can open it for writing, as it does at every login.

    Raises
    ------
    StartError
        It is not a JSON mapping of user names to passwords, or lacks a user, whose password Airflow would make and log.
    """
    if _PASSWORDS not in environment:
        return
    content = read_secret(folder, "ui_passwords")
    try:
        passwords = json.loads(content)
    except ValueError:
        passwords = None
    if not isinstance(passwords, dict):
        raise StartError(f'secret {folder / "ui_passwords"}: must be JSON such as {{"admin": "..."}}')
    users = {entry.partition(":")[0].strip() for entry in environment.get(_USERS, "admin:admin").split(",")}
    if missing := sorted(user for user in users if not passwords.get(user)):
        raise StartError(f"secret {folder / 'ui_passwords'}: lacks users of {_USERS}: {', '.join(missing)}")
    _write_privately(Path(environment[_PASSWORDS]), content)


def _write_privately(path: Path, content: str) -> None:
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    partial.touch(mode=0o600)
    partial.write_text(content, encoding="utf-8")
    partial.replace(path)


def seed_kernels(environment: Mapping[str, str]) -> None:
    """Copy the kernels compiled in the image into this container's cache folder, unless it exists.

    Numba loads only from a cache folder it can write to, and the image is read-only.
    """
    seed, cache = environment.get("AIRFLOW_ANON_KERNELS"), environment.get("NUMBA_CACHE_DIR")
    if not seed or not cache or Path(cache).exists():
        return
    partial = Path(f"{cache}.{uuid.uuid4().hex}")
    shutil.copytree(seed, partial, copy_function=shutil.copyfile)
    try:
        partial.rename(cache)
    except OSError:
        # Another process of this container was faster.
        shutil.rmtree(partial)


def start(arguments: Sequence[str]) -> NoReturn:
    """Become the command.

    Raises
    ------
    StartError
        Something is missing.
    """
    if not arguments:
        raise StartError("no command was given; give one, such as `airflow api-server`")
    os.umask(0o077)
    folder = Path(os.environ.get(_SECRETS, "/run/secrets"))
    environment = with_secrets(os.environ, folder)
    write_passwords(environment, folder)
    seed_kernels(environment)
    try:
        os.execvpe(arguments[0], list(arguments), environment)  # noqa: S606 (the container's own command)
    except OSError as problem:
        raise StartError(f"command {arguments[0]}: cannot be started ({problem.strerror})") from None


if __name__ == "__main__":
    try:
        start(sys.argv[1:])
    except StartError as problem:
        sys.stderr.write(f"entrypoint: {problem}\n")
        sys.exit(2)

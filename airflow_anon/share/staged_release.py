"""The staged release for `publish`: copied, then compared, so that nothing can change in between.

Two hashes in Airflow's database bind the results of `deidentify` and `validate` to this folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.transport.release_files import VALIDATION
from airflow_anon.transport.same_job import refuse_other_job
from engine import Job, VerificationFailed, check_manifest


@dataclass(frozen=True, kw_only=True)
class StagedRelease:
    """A release folder in staging, its validation, the expected hashes of both (SHA-256, hexadecimal), and the job."""

    folder: Path
    manifest_sha256: str
    validation: Path
    validation_sha256: str
    job: Job

    def __post_init__(self) -> None:
        for name in ("manifest_sha256", "validation_sha256"):
            if not re.fullmatch(r"[0-9a-f]{64}", str(getattr(self, name))):
                raise AirflowFailException(
                    f"{name}: must be a SHA-256 of 64 hexadecimal digits, as the task before returns it; "
                    f"without it nothing is published"
                )

    def check(self) -> None:
        """Prove the release in staging; errors as for `copy_to`."""
        self._prove(self.folder)
        self._proven_validation()

    def copy_to(self, target: Path) -> None:
        """Copy the release and its validation result into an empty private folder and prove the copy.

        Raises
        ------
        AirflowFailException
            The release is not the one that was made, or the validation is missing, different, or not a success.
        """
        present = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        for path in present:
            # A manifest has no folders, so a folder must be found here although the copy leaves it out.
            if path.is_dir():
                self._refuse()
            shutil.copyfile(path, target / path.name)
        self._prove(target)
        (target / VALIDATION).write_bytes(self._proven_validation())

    def _prove(self, folder: Path) -> None:
        try:
            check_manifest(folder, self.manifest_sha256)
        except (OSError, VerificationFailed):
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise AirflowFailException(
            f"{self.folder}: is not the release that was made in this run (its manifest or files are missing or "
            f"changed), so it is not published; clear the run from the extraction on"
        ) from None

    def _proven_validation(self) -> bytes:
        refused = "so the release is not published; clear the run from the validation on"
        try:
            content = self.validation.read_bytes()
        except OSError:
            raise AirflowFailException(f"{self.validation}: is missing, {refused}") from None
        if hashlib.sha256(content).hexdigest() != self.validation_sha256:
            raise AirflowFailException(f"{self.validation}: is not the one of this run, {refused}")
        try:
            document = json.loads(content)
            success, made_by = document["success"], document.get("job_sha256")
        except (ValueError, KeyError, TypeError, AttributeError):
            success = made_by = None
        if success is not True:
            raise AirflowFailException(f"{self.validation}: does not say success, {refused}")
        refuse_other_job(made_by, self.job)
        return content

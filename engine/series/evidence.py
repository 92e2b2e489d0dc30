"""What shows that a release keeps the promise of its series: the vault's content about it and those before it.

In: a proposal and the history it was made beside, or a vault and the id of a release. Out: arrays, which verification
counts by code of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import VerificationFailed
from engine.series.keyed_ids import SeriesKey
from engine.series.proposal import Proposal
from engine.series.remembered import History, Remembered
from engine.series.vault import Vault


@dataclass(frozen=True, eq=False)
class SeriesEvidence:
    """The remembered releases up to one, and who is at which place.

    Attributes
    ----------
    ids : uint8, shape (P, `ID_BYTES`)
    releases : list of Remembered
        Oldest first; the last one is the release itself.
    key : SeriesKey
    """

    ids: NDArray[np.uint8]
    releases: list[Remembered]
    key: SeriesKey


def evidence_of(history: History, proposal: Proposal, key: SeriesKey) -> SeriesEvidence:
    """Return the evidence of a release that is proposed."""
    ids = np.zeros((max(history.size, proposal.release.classes.size), history.ids.shape[1]), np.uint8)
    ids[: history.size] = history.ids
    ids[proposal.places] = proposal.ids
    return SeriesEvidence(ids, [*history.releases, proposal.release], key)


def evidence_in(vault: Vault, key: SeriesKey, release_id: str, memory: int) -> SeriesEvidence:
    """Return the evidence of a release from a vault, where it is pending or confirmed.

    Raises
    ------
    VaultRefused
        The vault cannot be used.
    VerificationFailed
        It does not know the release, or not any more, so that nothing shows who is in it.
    """
    ids, releases = vault.up_to(release_id, memory)
    if not releases:
        raise VerificationFailed(
            f"series {vault.series}: the vault does not know release {release_id}. Of a release that is under way, "
            "another run of the series began meanwhile: let that end, then run again from the de-identification on. "
            "Of another one, it was removed after `memory` releases, or the vault is an older copy: restore the newest "
            "one"
        )
    return SeriesEvidence(ids, releases, key)

"""The secret key of fingerprints: its id, and the keys for one purpose each that are derived from it.

Under them are the fingerprints of sources, the digests of hierarchies, and the seeds of what is measured of a release's
usefulness. Fingerprints and digests state the id, so that an auditor can tell that they are under one key, and that two
of two keys are not compared.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FingerprintKey:
    """A key.

    Attributes
    ----------
    secret : bytes
        At least `key_file.SHORTEST` random bytes.
    """

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """Name of the key, 16 hexadecimal digits, from which the key does not follow."""
        return self.derived("id").hex()[:16]

    def derived(self, purpose: str) -> bytes:
        """Return the 32 bytes of a key for one purpose, so that no key serves two of them."""
        return hmac.digest(self.secret, f"airflow-anon source fingerprint: {purpose}".encode(), "sha256")

"""Until when a certificate is valid: the one field of it that Python's ssl module doesn't show of a server's own. Pure."""

import re
import ssl
from datetime import UTC, datetime
from typing import Final

_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_VERSION: Final = 0xA0
_FORMATS: Final = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
"""UTCTime and GeneralizedTime, by their tags; strptime splits two digits of a year as POSIX does, X.509 at 50."""


def not_after(pem: bytes) -> datetime | None:
    """Return when the first certificate of a chain expires, or None where that can't be told.

    Of RFC 5280, 4.1: Certificate holds TBSCertificate, and that [version], serial, signature, issuer, validity.
    """
    match = _PEM.search(pem)
    if match is None:
        return None
    try:
        der = ssl.PEM_cert_to_DER_cert(match[0].decode("ascii"))
        _, at, _ = _element(der, 0)
        _, at, _ = _element(der, at)
        tag, _, end = _element(der, at)
        if tag == _VERSION:
            at = end
        for _ in ("serial", "signature", "issuer"):
            _, _, at = _element(der, at)
        _, at, _ = _element(der, at)
        _, _, at = _element(der, at)
        tag, start, end = _element(der, at)
        return datetime.strptime(der[start:end].decode("ascii"), _FORMATS[tag]).replace(tzinfo=UTC)
    except (ValueError, IndexError, KeyError):
        return None


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Return the tag of what stands at `at`, and where its content starts and ends."""
    tag, length, start = der[at], der[at + 1], at + 2
    if length >= 0x80:
        octets = length & 0x7F
        length = int.from_bytes(der[start : start + octets], "big")
        start += octets
    return tag, start, start + length

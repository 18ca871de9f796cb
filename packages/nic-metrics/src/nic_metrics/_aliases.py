"""Names for addresses that must not be told: the same address always gets the same one, and none can be turned back.

They are counted up in the order in which addresses come, and keep what isn't private and decides how software behaves: zeros, the
link-local prefix, and that a GID is made of an IPv4 address.
"""

import re
from ipaddress import IPv4Address

# A GUID as sysfs prints it is also the shape of either half of a GID.
_GUID = r"[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}"
_GID_OR_GUID = re.compile(rf"(?P<gid>{_GUID}:{_GUID})|(?P<guid>{_GUID})", re.ASCII)
# udev can be told to name devices and interfaces by their GUID or MAC address.
_NAMED_BY_ADDRESS = re.compile(r"(?P<kind>[a-z]{2,4}x)(?P<address>[0-9a-f]{12}|[0-9a-f]{16})", re.ASCII)
_ZERO = "0000:0000:0000:0000"
_LINK_LOCAL = "fe80:0000:0000:0000"
_IPV4 = "0000:ffff:"
# 198.18.0.0/15 belongs to test beds; 02… is an identifier that somebody made up.
_FIRST_IPV4 = int(IPv4Address("198.18.0.1"))
_FIRST_ID = 0x0200_00FF_FE00_0001
_UNASSIGNED_LIDS = frozenset({0, 0xFFFF})


class Aliases:
    """Gives addresses other names."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def __len__(self) -> int:
        """Return how many addresses have got one."""
        return len(self._known)

    def addresses(self, text: str) -> str:
        """Replace every GID and GUID in a text."""
        return _GID_OR_GUID.sub(
            lambda match: self._gid(match["gid"]) if match["gid"] else self._id(match["guid"]), text
        )

    def lid(self, text: str) -> str:
        """Replace a LID; text that is none is left as it is."""
        try:
            lid = int(text, 16)
        except ValueError:
            return text
        return text if lid in _UNASSIGNED_LIDS else self._alias("lid", f"{lid:x}", "0x{:x}", 1)

    def device(self, name: str) -> str:
        """Replace the address in the name of a device or an interface that is named by one."""
        match = _NAMED_BY_ADDRESS.fullmatch(name)
        return (
            name if match is None else match["kind"] + self._alias(match["kind"], match["address"], "{:012x}", 1 << 41)
        )

    def _gid(self, gid: str) -> str:
        prefix, own = gid[: len(_ZERO)], gid[len(_ZERO) + 1 :]
        if prefix == _ZERO and own.lower().startswith(_IPV4):
            number = int(self._alias("ipv4", own, "{}", _FIRST_IPV4))
            return f"{prefix}:{_IPV4}{number >> 16:04x}:{number & 0xFFFF:04x}"
        return f"{prefix if prefix.lower() == _LINK_LOCAL else self._id(prefix)}:{self._id(own)}"

    def _id(self, half: str) -> str:
        if half == _ZERO:
            return half
        digits = self._alias("id", half.lower(), "{:016x}", _FIRST_ID)
        return ":".join(digits[start : start + 4] for start in range(0, len(digits), 4))

    def _alias(self, kind: str, address: str, shape: str, first: int) -> str:
        known = self._known.get((kind, address))
        if known is None:
            number = first + sum(other == kind for other, _ in self._known)
            known = self._known[kind, address] = shape.format(number)
        return known

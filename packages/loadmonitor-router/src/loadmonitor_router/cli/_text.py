"""How values are written for people; None is always "-"."""

_SECOND_MS = 1_000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS


def safe(text: str) -> str:
    """Return text of somebody else's on one line and without power over a terminal: control characters as escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def age(milliseconds: float | None) -> str:
    """Return 84ms, 4.1s, 3m or 2h."""
    if milliseconds is None:
        return "-"
    for unit_ms, suffix, digits in ((_HOUR_MS, "h", 1), (_MINUTE_MS, "m", 1), (_SECOND_MS, "s", 1)):
        if milliseconds >= unit_ms:
            return f"{milliseconds / unit_ms:.{digits}f}{suffix}"
    return f"{milliseconds:.0f}ms"


def count(value: int | None) -> str:
    """Return the number as it is."""
    return "-" if value is None else str(value)


def short_count(value: int | None) -> str:
    """Return 812, 9.2k or 1.3M."""
    if value is None:
        return "-"
    for unit, suffix in ((1_000_000, "M"), (1_000, "k")):
        if value >= unit:
            return f"{value / unit:.1f}{suffix}"
    return str(value)


def ratio(value: float | None) -> str:
    """Return two decimals."""
    return "-" if value is None else f"{value:.2f}"


def rate(value: float | None) -> str:
    """Return a whole number."""
    return "-" if value is None else f"{value:.0f}"


def bar(value: float | None, width: int = 9) -> str:
    """Return a ratio as a bar of eighths of a block, dots for the rest; empty when unknown."""
    if value is None:
        return ""
    full, eighths = divmod(round(min(1.0, max(0.0, value)) * width * 8), 8)
    partial = "▏▎▍▌▋▊▉"[eighths - 1] if eighths else ""
    return ("█" * full + partial).ljust(width, "·")

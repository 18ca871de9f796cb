"""Words for what a source raised."""

_LONGEST_LINE = 1_000


def text_of(error: BaseException) -> str:
    """Return `str(error)`, or what is wrong with it: a source's exceptions are as trustworthy as the source."""
    try:
        return str(error)
    except Exception as exc:  # noqa: BLE001 - it would hide the error that it was asked about
        return f"(str() of {type(error).__name__} raised {type(exc).__name__})"


def line_of(text: str) -> str:
    """Return `text` as one line of bounded length that any log can hold: whatever isn't printable is escaped."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text[:_LONGEST_LINE]
    )

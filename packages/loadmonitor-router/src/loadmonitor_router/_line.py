"""Text of somebody else's, made fit for logs and terminals."""

_LONGEST_LINE = 1_000


def line_of(text: str) -> str:
    """Return text on one line of bounded length and without power over a terminal: control characters as escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[:_LONGEST_LINE])

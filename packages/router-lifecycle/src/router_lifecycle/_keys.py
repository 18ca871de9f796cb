"""Keys that an Authorization header can carry."""


def check_key(secret: str) -> None:
    """Refuse a key that no header carries, without repeating it.

    Raises:
        ValueError: It holds white space or a character outside printable ASCII.
    """
    if not all("!" <= character <= "~" for character in secret):
        raise ValueError(
            "api_key holds white space or a character outside printable ASCII, which no Authorization header carries; "
            "a key read from a file often ends in a newline: strip it"
        )

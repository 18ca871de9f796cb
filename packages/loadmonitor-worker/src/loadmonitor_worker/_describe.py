"""Words for what a source raised."""


def text_of(error: BaseException) -> str:
    """Return `str(error)`, or what is wrong with it: a source's exceptions are as trustworthy as the source."""
    try:
        return str(error)
    except Exception as exc:  # noqa: BLE001 - it would hide the error that it was asked about
        return f"(str() of {type(error).__name__} raised {type(exc).__name__})"

"""What must not be shown of a URL."""

import re

_USERINFO = re.compile(r"//[^/\s?#]*@")


def without_password(text: str) -> str:
    """Return the text with `***` for the user and password of every URL in it."""
    return _USERINFO.sub("//***@", text)

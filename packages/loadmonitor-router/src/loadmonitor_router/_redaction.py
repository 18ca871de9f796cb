"""What must not be shown of a URL."""

import re

_USERINFO = re.compile(r"(^|//)[^/\s?#\"']*@(?!\d+(?![\w.:-]))")


def without_password(text: str) -> str:
    """Return the text with `***` for the user and password of every URL or address in it; `host:port@RANK` names a rank and stays."""
    return _USERINFO.sub(r"\1***@", text)

"""How a setting is called on the command line."""

import re

_SETTINGS = ("tls_ca_file", "tls_cert_file", "tls_key_file", "tls_client_ca_file", "tls_server_name", "token_file")
_SETTING = re.compile(rf"\b({'|'.join(_SETTINGS)})\b")


def in_flags(text: str) -> str:
    """Return an error's text with flags where it names settings; the Worker's own are its command's flags, too."""
    text = text.replace("report_interval_ms=", "--report-interval-ms ").replace("lease_ttl_ms=", "--lease-ttl-ms ")
    return _SETTING.sub(lambda found: f"--{found[1].replace('_', '-')}", text)

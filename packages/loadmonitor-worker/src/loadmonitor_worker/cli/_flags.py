"""How a setting is called on the command line."""

import logging
import re

_WORDS = {
    "mapping=": "--mapping ",
    "dp_size=": "--dp-size ",
    "period_ms=": "--period-ms ",
    "timeout_seconds=": "--timeout ",
    "127.0.0.1 (host)": "127.0.0.1 (--listen)",
    ", or None": "",
}
_WORDS |= {
    f"{name}{sign}": f"--{name.replace('_', '-')} "
    for name in ("max_running_requests", "max_total_num_tokens")
    for sign in " ="
}
_FILES = re.compile(r"(?<![\w-])(tls_cert_file|tls_key_file|tls_client_ca_file|auth_token_file)\b(=?)")


def in_flags(text: str) -> str:
    """Return an error's text with flags where it names settings."""
    for setting, flag in _WORDS.items():
        text = text.replace(setting, flag)
    return _FILES.sub(lambda found: f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}", text)


def log_in_flags(record: logging.LogRecord) -> bool:
    """Have a record name flags; fits as a filter, and lets every record through."""
    record.msg, record.args = in_flags(record.getMessage()), ()
    return True

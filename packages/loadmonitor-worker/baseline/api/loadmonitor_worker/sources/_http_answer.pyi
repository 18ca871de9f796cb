from collections.abc import Mapping
from enum import StrEnum
from loadmonitor_worker.errors import SourceUnavailableError as SourceUnavailableError

class HttpReason(StrEnum):
    UNREACHABLE = 'unreachable'
    NOT_HTTP = 'not_http'
    TIMEOUT = 'timeout'
    UNAUTHORIZED = 'unauthorized'
    ROUTE_ABSENT = 'route_absent'
    HTTP_STATUS = 'http_status'
    REDIRECTED_OFF_HOST = 'redirected_off_host'
    TOO_MANY_REDIRECTS = 'too_many_redirects'
    COMPRESSED = 'compressed'
    TOO_LARGE = 'too_large'
    BAD_JSON = 'bad_json'
    NO_RANKS = 'no_ranks'
    AGGREGATE_ONLY = 'aggregate_only'
    INCOMPLETE = 'incomplete'

def check_answer(status: int, headers: Mapping[str, str], *, where: str, with_key: bool, absent: str) -> None: ...

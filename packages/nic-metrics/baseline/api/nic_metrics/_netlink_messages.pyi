from _typeshed import Incomplete
from collections.abc import Iterator
from typing import NamedTuple

NETLINK_RDMA: int
GET_DEVICES: Incomplete
GET_STATISTICS: Incomplete
ERROR: int
DONE: int

class Message(NamedTuple):
    kind: int
    sequence: int
    payload: bytes

class Device(NamedTuple):
    number: int
    name: str

def list_devices_request(sequence: int) -> bytes: ...
def statistics_request(sequence: int, device_index: int, port: int) -> bytes: ...
def messages(data: bytes) -> Iterator[Message]: ...
def error_number(payload: bytes) -> int: ...
def device(payload: bytes) -> Device | None: ...
def counters(payload: bytes) -> dict[str, int]: ...

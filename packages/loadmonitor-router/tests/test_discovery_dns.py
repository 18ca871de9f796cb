"""Workers behind names, asked of a real name server on 127.0.0.1 over UDP and TCP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from dns.asyncresolver import Resolver

from loadmonitor_router.discovery import DnsDiscovery, LookupConfig, SrvDiscovery
from loadmonitor_router.errors import ConfigError
from loadmonitor_router.snapshot import WorkerTarget
from loadmonitor_router.testing import ManualClock

pytestmark = pytest.mark.usefixtures("leaves_nothing")

NAME = "workers.test."
_UDP_SIZE = 512


@dataclass
class Zone:
    """What the name server answers, and what it was asked.

    Attributes:
        records: By record type, the texts of the records; a type that isn't there has none.
        ttl: Of all records, in seconds.
        rcode: Of every answer; None for silence.
        asked: Transport and record type of each question.
    """

    records: dict[str, list[str]] = field(default_factory=dict)
    ttl: int = 10
    rcode: dns.rcode.Rcode | None = dns.rcode.NOERROR
    asked: list[tuple[str, str]] = field(default_factory=list)
    alias_ttl: int | None = None

    def answer(self, wire: bytes, transport: str) -> bytes | None:
        query = dns.message.from_wire(wire)
        question = query.question[0]
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((transport, kind))
        if self.rcode is None:
            return None
        response = dns.message.make_response(query)
        response.set_rcode(self.rcode)
        texts = self.records.get(kind, [])
        if texts and self.rcode == dns.rcode.NOERROR:
            owner = question.name.to_text()
            if self.alias_ttl is not None:
                response.answer.append(dns.rrset.from_text(owner, self.alias_ttl, "IN", "CNAME", "real.test."))
                owner = "real.test."
            response.answer.append(dns.rrset.from_text_list(owner, self.ttl, "IN", kind, texts))
        full = response.to_wire()
        if transport == "tcp" or len(full) <= _UDP_SIZE:
            return full
        response.answer.clear()
        response.flags |= dns.flags.TC
        return response.to_wire()


class UdpServer(asyncio.DatagramProtocol):
    def __init__(self, zone: Zone) -> None:
        self._zone = zone

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        reply = self._zone.answer(data, "udp")
        if reply is not None:
            self._transport.sendto(reply, addr)


@dataclass
class Asked:
    """A name server, and how to look something up there."""

    zone: Zone
    resolver: Resolver
    clock: ManualClock

    def dns(self, config: LookupConfig | None = None) -> DnsDiscovery:
        return DnsDiscovery(NAME, 30_000, config=config or LookupConfig(), resolver=self.resolver, clock=self.clock)

    def srv(self) -> SrvDiscovery:
        return SrvDiscovery(f"_http._tcp.{NAME}", resolver=self.resolver, clock=self.clock)

    async def next_look_after(self, seconds: float) -> None:
        """Let a look happen after exactly so many seconds, one that finds nothing new."""
        left = await self.clock.timer_within(1_000_000)
        assert left == seconds * 1_000
        self.clock.move(left - 1)
        questions = len(self.zone.asked)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(self.zone.asked) == questions
        self.clock.move(1)
        await self.clock.timer_within(1_000_000)
        assert len(self.zone.asked) > questions


@pytest.fixture
async def asked(clock: ManualClock) -> AsyncIterator[Asked]:
    zone = Zone()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(2))
        reply = zone.answer(await reader.readexactly(size), "tcp") or b""
        writer.write(len(reply).to_bytes(2) + reply)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    tcp = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = tcp.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    udp, _ = await loop.create_datagram_endpoint(lambda: UdpServer(zone), local_addr=("127.0.0.1", port))
    resolver = Resolver(configure=False)
    resolver.nameservers = ["127.0.0.1"]
    resolver.port = port
    yield Asked(zone, resolver, clock)
    udp.close()
    tcp.close()
    await tcp.wait_closed()
    await asyncio.sleep(0)


def workers(*hosts: str) -> tuple[WorkerTarget, ...]:
    return tuple(WorkerTarget(url=f"http://{host}:30000", reporter=f"{host}:50061") for host in hosts)


async def test_each_address_of_a_name_is_a_worker(asked: Asked) -> None:
    asked.zone.records = {"A": ["10.0.0.2", "10.0.0.1"]}
    async with aclosing(asked.dns()) as discovery:
        assert await anext(discovery) == workers("10.0.0.1", "10.0.0.2")
        news = asyncio.ensure_future(anext(discovery))
        asked.zone.records = {"A": ["10.0.0.1", "10.0.0.2"]}
        await asked.next_look_after(10)
        assert not news.done()
        asked.zone.records = {"A": ["10.0.0.2", "10.0.0.3"]}
        asked.clock.move(10_000)
        assert await news == workers("10.0.0.2", "10.0.0.3")
        assert discovery.last_error is None


async def test_a_worker_with_both_kinds_of_addresses_is_one(asked: Asked) -> None:
    asked.zone.records = {"A": ["10.0.0.1"], "AAAA": ["2001:db8::1"]}
    async with aclosing(asked.dns()) as discovery:
        assert await anext(discovery) == workers("10.0.0.1")
    assert asked.zone.asked == [("udp", "A")]


async def test_ipv6_addresses_count_where_there_are_no_others(asked: Asked) -> None:
    asked.zone.records = {"AAAA": ["2001:db8::1"]}
    async with aclosing(asked.dns(LookupConfig(reporter_port=7, scheme="grpc"))) as discovery:
        expected = WorkerTarget(url="grpc://[2001:db8::1]:30000", reporter="[2001:db8::1]:7")
        assert await anext(discovery) == (expected,)


async def test_a_service_record_names_host_and_port(asked: Asked) -> None:
    asked.zone.records = {"SRV": ["0 5 30001 b.test.", "9 0 30000 A.test."]}
    async with aclosing(asked.srv()) as discovery:
        assert await anext(discovery) == (
            WorkerTarget(url="http://a.test:30000", reporter="a.test:50061"),
            WorkerTarget(url="http://b.test:30001", reporter="b.test:50061"),
        )


async def test_a_service_that_is_not_offered_has_no_workers(asked: Asked) -> None:
    asked.zone.records = {"SRV": ["0 0 0 ."]}
    async with aclosing(asked.srv()) as discovery:
        assert await anext(discovery) == ()


async def test_two_services_of_one_host_share_a_reporter_and_are_refused(asked: Asked) -> None:
    asked.zone.records = {"SRV": ["0 0 30000 a.test."]}
    async with aclosing(asked.srv()) as discovery:
        assert len(await anext(discovery)) == 1
        news = asyncio.ensure_future(anext(discovery))
        asked.zone.records = {"SRV": ["0 0 30000 a.test.", "0 0 30001 a.test."]}
        await asked.next_look_after(10)
        assert not news.done()
        assert "share the load reporter a.test:50061" in (discovery.last_error or "")
        news.cancel()


async def test_a_set_too_large_for_udp_is_complete(asked: Asked) -> None:
    asked.zone.records = {"A": [f"10.0.{number // 200}.{number % 200}" for number in range(1_000)]}
    async with aclosing(asked.dns()) as discovery:
        assert len(await anext(discovery)) == 1_000
    assert asked.zone.asked == [("udp", "A"), ("tcp", "A")]


@pytest.mark.parametrize(("ttl", "seconds"), [(0, 5), (4, 5), (17, 17), (3_600, 30)])
async def test_the_time_to_live_rules_between_floor_and_ceiling(asked: Asked, ttl: int, seconds: int) -> None:
    asked.zone.records, asked.zone.ttl = {"A": ["10.0.0.1"]}, ttl
    async with aclosing(asked.dns()) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await asked.next_look_after(seconds)
        news.cancel()


async def test_the_shortest_time_to_live_on_the_way_rules(asked: Asked) -> None:
    asked.zone.records, asked.zone.ttl, asked.zone.alias_ttl = {"A": ["10.0.0.1"]}, 25, 7
    async with aclosing(asked.dns()) as discovery:
        assert await anext(discovery) == workers("10.0.0.1")
        news = asyncio.ensure_future(anext(discovery))
        await asked.next_look_after(7)
        news.cancel()


def no_such_name(zone: Zone) -> None:
    zone.rcode = dns.rcode.NXDOMAIN


def no_records(zone: Zone) -> None:
    zone.records = {}


@pytest.mark.parametrize("disappear", [no_such_name, no_records])
async def test_a_name_without_records_is_believed_the_third_time(
    asked: Asked, disappear: Callable[[Zone], None]
) -> None:
    asked.zone.records = {"A": ["10.0.0.1"]}
    async with aclosing(asked.dns()) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        disappear(asked.zone)
        await asked.next_look_after(10)
        assert "(answer 1; after 3 in a row there are no workers)" in (discovery.last_error or "")
        await asked.next_look_after(5)
        assert not news.done()
        asked.clock.move(5_000)
        assert await news == ()
        assert discovery.last_error is None


async def test_answers_without_records_count_only_in_a_row(asked: Asked) -> None:
    asked.zone.records = {"A": ["10.0.0.1"]}
    async with aclosing(asked.dns()) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        await asked.next_look_after(10)
        asked.zone.rcode = dns.rcode.NXDOMAIN
        await asked.next_look_after(10)
        await asked.next_look_after(5)
        asked.zone.rcode = dns.rcode.SERVFAIL
        await asked.next_look_after(5)
        asked.zone.rcode = dns.rcode.NXDOMAIN
        await asked.next_look_after(5)
        await asked.next_look_after(5)
        assert not news.done()
        news.cancel()


async def test_a_name_that_never_had_records_has_no_workers_in_the_end(asked: Asked) -> None:
    asked.zone.rcode = dns.rcode.NXDOMAIN
    async with aclosing(asked.dns()) as discovery:
        news = asyncio.ensure_future(anext(discovery))
        for _ in range(2):
            await asked.clock.timer_within(5_000)
            asked.clock.move(5_000)
        assert await news == ()


@pytest.mark.parametrize(
    ("rcode", "why"),
    [(dns.rcode.SERVFAIL, "SERVFAIL"), (dns.rcode.REFUSED, "REFUSED"), (None, "timed out|lifetime expired")],
)
async def test_a_failure_keeps_the_last_set_for_however_long(
    asked: Asked, rcode: dns.rcode.Rcode | None, why: str
) -> None:
    asked.zone.records = {"A": ["10.0.0.1"]}
    async with aclosing(asked.dns(LookupConfig(timeout_seconds=0.05))) as discovery:
        await anext(discovery)
        news = asyncio.ensure_future(anext(discovery))
        asked.zone.rcode = rcode
        await asked.next_look_after(10)
        for _ in range(4):
            await asked.next_look_after(5)
        assert not news.done()
        error = discovery.last_error or ""
        assert error.startswith("workers.test. can't be looked up")
        assert any(word in error for word in why.split("|"))
        asked.zone.rcode = dns.rcode.NOERROR
        asked.zone.records = {"A": ["10.0.0.9"]}
        asked.clock.move(5_000)
        assert await news == workers("10.0.0.9")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"floor_seconds": 0}, "floor_seconds=0 is not allowed: a number of seconds above 0 is"),
        ({"timeout_seconds": -1}, "timeout_seconds=-1 is not allowed"),
        ({"ceiling_seconds": 4}, "ceiling_seconds=4 is not allowed: at least floor_seconds=5.0 is"),
        ({"reporter_port": 0}, "reporter_port=0 is not a TCP port"),
    ],
)
def test_settings_are_checked(settings: dict[str, int], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        LookupConfig(**settings)  # type: ignore[arg-type]


def test_names_ports_and_schemes_are_checked() -> None:
    with pytest.raises(ConfigError, match="name '' is blank"):
        DnsDiscovery("", 1)
    with pytest.raises(ConfigError, match="port=70000 is not a TCP port"):
        DnsDiscovery(NAME, 70_000)
    with pytest.raises(ConfigError, match="scheme='ftp' is not allowed: one of http, https"):
        LookupConfig(scheme="ftp")

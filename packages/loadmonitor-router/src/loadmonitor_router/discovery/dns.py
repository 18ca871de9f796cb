"""Workers behind a name in the DNS: the addresses of a name, or the records of a service.

What an answer means:

- Records are the Workers there are. They are looked up again when their time to live is over, within bounds.
- A name that doesn't exist, or that exists without such records, is what a headless Service without ready pods answers, and
  also what a name server answers that has just started. So it counts as no Workers only after `EMPTY_AFTER` such answers in a
  row; until then the last good set stands.
- A server failure, a refusal or silence says nothing about the Workers: the last good set stands.
"""

from abc import abstractmethod
from dataclasses import dataclass

from dns.asyncresolver import Resolver
from dns.exception import DNSException
from dns.name import root
from dns.rdatatype import RdataType
from dns.rdtypes.IN.SRV import SRV
from dns.resolver import NXDOMAIN, Answer, NoAnswer

from loadmonitor_router.discovery._poll import PollingDiscovery
from loadmonitor_router.discovery.targets import (
    DEFAULT_REPORTER_PORT,
    SCHEMES,
    check_port,
    endpoint,
    target_set,
    worker_target,
)
from loadmonitor_router.errors import ConfigError, DiscoveryError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.snapshot import WorkerTarget

EMPTY_AFTER = 3
"""How many answers in a row must say that a name has no records before there are no Workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupConfig:
    """Settings of a discovery by DNS.

    Attributes:
        reporter_port: Where the reporters listen, each on its worker's host.
        scheme: Of the workers' URLs.
        floor_seconds: Shortest time between two lookups, whatever the records' time to live; above 0. The time after an
            answer without records, and after a failure.
        ceiling_seconds: Longest time between two lookups; at least the floor.
        timeout_seconds: How long to wait for an answer, all name servers and attempts taken together; above 0.

    Raises:
        ConfigError: A value is out of range.
    """

    reporter_port: int = DEFAULT_REPORTER_PORT
    scheme: str = "http"
    floor_seconds: float = 5.0
    ceiling_seconds: float = 30.0
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_port("reporter_port", self.reporter_port)
        if self.scheme not in SCHEMES:
            raise ConfigError(f"scheme={self.scheme!r} is not allowed: one of {', '.join(SCHEMES)} is")
        for name in ("floor_seconds", "timeout_seconds"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name}={getattr(self, name)!r} is not allowed: a number of seconds above 0 is")
        if not self.ceiling_seconds >= self.floor_seconds:
            raise ConfigError(
                f"ceiling_seconds={self.ceiling_seconds!r} is not allowed: at least floor_seconds={self.floor_seconds!r} is"
            )


_DEFAULTS = LookupConfig()


class _NameDiscovery(PollingDiscovery):
    def __init__(
        self,
        name: str,
        *,
        config: LookupConfig = _DEFAULTS,
        resolver: Resolver | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Name what is looked up.

        Args:
            name: The name; one that doesn't end in a dot is also tried below the machine's search domains.
            config: How to look it up.
            resolver: Whom to ask; the machine's own resolver settings unless given.
            clock: Time; the machine's unless given.

        Raises:
            ConfigError: The name is blank.
        """
        super().__init__(interval_seconds=config.floor_seconds, clock=clock)
        if not name.strip("."):
            raise ConfigError(f"name {name!r} is blank: give a DNS name such as workers.default.svc.cluster.local")
        self._config = config
        self._name = name
        self._resolver = Resolver() if resolver is None else resolver
        self._without_records = 0

    async def _look(self) -> tuple[WorkerTarget, ...]:
        config = self._config
        self._interval_seconds = config.floor_seconds
        try:
            authorities, ttl_seconds = await self._records()
        except (NXDOMAIN, NoAnswer) as error:
            self._without_records += 1
            if self._without_records < EMPTY_AFTER:
                raise DiscoveryError(
                    f"{error} (answer {self._without_records}; after {EMPTY_AFTER} in a row there are no workers)"
                ) from error
            return ()
        except DNSException as error:
            self._without_records = 0
            raise DiscoveryError(f"{self._name} can't be looked up: {error}") from error
        self._without_records = 0
        self._interval_seconds = min(max(ttl_seconds, config.floor_seconds), config.ceiling_seconds)
        return target_set(worker_target(f"{config.scheme}://{each}", config.reporter_port) for each in authorities)

    async def _ask(self, record_type: RdataType) -> Answer:
        return await self._resolver.resolve(self._name, record_type, search=True, lifetime=self._config.timeout_seconds)

    @abstractmethod
    async def _records(self) -> tuple[list[str], float]:
        """Return `host:port` of each record, and how many seconds they hold.

        Raises:
            DNSException: There are none, or none can be had.
        """


class DnsDiscovery(_NameDiscovery):
    """A Discovery of the addresses of a name, such as that of a headless Service; each is a worker on the same port.

    The name's IPv4 addresses are asked for, and its IPv6 addresses only where it has no IPv4 ones: a worker with both is one.
    """

    def __init__(
        self,
        name: str,
        port: int,
        *,
        config: LookupConfig = _DEFAULTS,
        resolver: Resolver | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Name the workers.

        Args:
            name: The name; one that doesn't end in a dot is also tried below the machine's search domains.
            port: Where the workers serve requests.
            config: How to look it up.
            resolver: Whom to ask; the machine's own resolver settings unless given.
            clock: Time; the machine's unless given.

        Raises:
            ConfigError: The name is blank, or the port is none.
        """
        super().__init__(name, config=config, resolver=resolver, clock=clock)
        check_port("port", port)
        self._port = port

    async def _records(self) -> tuple[list[str], float]:
        try:
            answer = await self._ask(RdataType.A)
        except NoAnswer:
            answer = await self._ask(RdataType.AAAA)
        authorities = [endpoint(record.to_text(), self._port) for record in answer]
        return authorities, answer.chaining_result.minimum_ttl


class SrvDiscovery(_NameDiscovery):
    """A Discovery of a service's records, such as `_http._tcp.workers.default.svc.cluster.local`: each names host and port.

    Every record is a worker, whatever its priority and weight: those are advice for picking one, and load says more.
    """

    async def _records(self) -> tuple[list[str], float]:
        answer = await self._ask(RdataType.SRV)
        records = [record for record in answer if isinstance(record, SRV)]
        # The root as the only target says that the service isn't offered here (RFC 2782).
        offered = [record for record in records if record.target != root]
        authorities = [endpoint(record.target.to_text(omit_final_dot=True), record.port) for record in offered]
        return authorities, answer.chaining_result.minimum_ttl

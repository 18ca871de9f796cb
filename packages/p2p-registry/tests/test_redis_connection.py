"""How a store in Redis is reached, what is said where it isn't, and what is left when its server is killed."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
import trustme
from backend_conformance import NOW_MS, SOURCE, key, record, state
from redis.asyncio import Redis
from redis_server import RedisServer
from redis_store import backend, server, store

from p2p_registry import (
    Backend,
    BackendError,
    InvalidBackendUrlError,
    RegistryService,
    SourceStatus,
    UpdateOutcome,
    open_backend,
)
from p2p_registry.wire import (
    PublishMetadataRequest,
    SourceIdentity,
    UpdateStatusRequest,
    UpdateStatusResponse,
    WorkerMetadata,
)
from p2p_registry.wire import SourceStatus as WireStatus

__all__ = ["backend", "server", "store"]

SESAME = "s3cret@:/#%Ж"


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Backend]:
    backend = await open_backend(url)
    try:
        yield backend
    finally:
        await backend.aclose()


async def keys_in(server: RedisServer, database: int) -> list[str]:
    async with Redis(unix_socket_path=server.socket, db=database, decode_responses=True) as client:
        return sorted(str(name) for name in await client.keys())


@pytest.mark.parametrize(
    ("form", "database"),
    [
        ("redis://127.0.0.1:{port}", 0),
        ("redis://127.0.0.1:{port}/", 0),
        ("redis://127.0.0.1:{port}/3", 3),
        ("redis://127.0.0.1:{port}?db=4", 4),
        ("redis://127.0.0.1:{port}/5?socket_timeout=1.5&protocol=3", 5),
        ("unix://{socket}", 0),
        ("unix://{socket}?db=6", 6),
    ],
)
@pytest.mark.usefixtures("store")
async def test_a_url_names_the_server_and_the_database(server: RedisServer, form: str, database: int) -> None:
    async with opened(form.format(port=server.port, socket=server.socket)) as backend:
        await backend.ping()
        await backend.publish(record())
        assert await backend.update_state(key(), state(source_load=0.73)) is UpdateOutcome.APPLIED
        (summary,) = await backend.summaries(None)
        assert summary.state.source_load == 0.73
    assert await keys_in(server, database) == [f"mx:source:{SOURCE}", f"mx:source:{SOURCE}:w"]


@pytest.mark.parametrize("form", ["redis://{login}127.0.0.1:{port}", "unix://{login}{socket}"])
async def test_a_password_or_a_user_with_one_opens_a_protected_store(form: str) -> None:
    secret = quote(SESAME, safe="")
    with RedisServer("--requirepass", SESAME) as protected:
        async with Redis(unix_socket_path=protected.socket, password=SESAME) as client:
            await client.acl_setuser(
                "registry", enabled=True, passwords=["+" + SESAME], keys=["mx:*"], categories=["+@all"]
            )
        for login in (f":{secret}@", f"default:{secret}@", f"registry:{secret}@"):
            async with opened(form.format(login=login, port=protected.port, socket=protected.socket)) as backend:
                await backend.publish(record())
                assert await backend.get(SOURCE, "w") is not None
        for login, complaint in (("", "Authentication required"), ("default:wr0ng@", "invalid username-password pair")):
            async with opened(form.format(login=login, port=protected.port, socket=protected.socket)) as backend:
                with pytest.raises(BackendError, match=complaint) as caught:
                    await backend.ping()
                assert "wr0ng" not in repr(caught.value)


async def test_a_password_that_the_peer_repeats_is_not_passed_on() -> None:
    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # As a proxy answers that knows no AUTH: with the arguments.
        await reader.read(1000)
        writer.write(f"-ERR unknown command 'AUTH', with args beginning with: '{SESAME}'\r\n".encode())
        await writer.drain()
        await reader.read()
        writer.close()

    proxy = await asyncio.start_server(repeat, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    async with proxy, opened(f"redis://:{quote(SESAME, safe='')}@127.0.0.1:{port}") as backend:
        with pytest.raises(BackendError, match=r"unknown command 'AUTH'.*'\*\*\*'") as caught:
            await backend.ping()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def tls_in_front_of(server: RedisServer, certificate: trustme.LeafCert) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_redis, to_redis = await asyncio.open_unix_connection(server.socket)
        await asyncio.gather(pipe(reader, to_redis), pipe(from_redis, writer))

    listener = await asyncio.start_server(connect, "127.0.0.1", 0, ssl=context)
    async with listener:
        yield listener.sockets[0].getsockname()[1]


@pytest.mark.usefixtures("store")
async def test_rediss_is_tls_and_refuses_a_server_that_nobody_vouches_for(server: RedisServer, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    # redis-py before 6 says no more than "Error 1".
    refusal = "certificate verify failed|Error 1 connecting"
    async with tls_in_front_of(server, authority.issue_cert("127.0.0.1")) as port:
        async with opened(f"rediss://127.0.0.1:{port}/2?ssl_ca_certs={tmp_path}/ca.pem") as backend:
            await backend.publish(record())
            assert await backend.get(SOURCE, "w") is not None
        async with opened(f"rediss://127.0.0.1:{port}/2") as backend:
            with pytest.raises(BackendError, match=refusal):
                await backend.ping()
    async with (
        tls_in_front_of(server, authority.issue_cert("another.example")) as port,
        opened(f"rediss://127.0.0.1:{port}/2?ssl_ca_certs={tmp_path}/ca.pem") as backend,
    ):
        with pytest.raises(BackendError, match=refusal):
            await backend.ping()
    async with opened(f"rediss://127.0.0.1:{server.port}?socket_connect_timeout=0.1") as backend:
        with pytest.raises(BackendError, match=f"Redis at 127.0.0.1:{server.port}"):
            await backend.ping()


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:s3cret@host:port",
        "redis://:s3cret/more@host",
        "redis://:s3cret#more@host",
        "redis://host:70000",
        "redis://host/s3cret",
        "redis://host/0?db=s3cret",
        "redis://host?s3cret=1",
        "redis://host?socket_timeout=s3cret",
        "redis:",
        "redis:/0",
        "redis:s3cret",
        "redis:/s3cret",
        "unix://",
        "unix:///",
        "rediss://[::s3cret",
    ],
)
async def test_a_url_that_cannot_be_read_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidBackendUrlError, match=r"can't be read; redis://\[USER:PASSWORD@\]HOST") as caught:
        await open_backend(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_a_server_that_is_not_there_is_named(server: RedisServer) -> None:
    with RedisServer() as gone:
        pass
    async with opened(f"redis://user:{quote(SESAME, safe='')}@127.0.0.1:{gone.port}/1") as backend:
        with pytest.raises(BackendError, match=f"^Redis at 127.0.0.1:{gone.port}: .*onnect") as caught:
            await backend.update_state(key(), state())
        assert SESAME not in str(caught.value)
    async with opened(f"unix://{gone.socket}") as backend:
        with pytest.raises(BackendError, match=f"^Redis at {gone.socket}: .*No such file"):
            await backend.publish(record())
    assert server.port != gone.port


async def test_a_server_that_does_not_answer_is_given_up_after_the_time_out() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(swallow, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    async with silent, opened(f"redis://127.0.0.1:{port}?socket_timeout=0.05") as backend:
        with pytest.raises(BackendError, match=f"Redis at 127.0.0.1:{port}: .*[Tt]imeout"):
            await backend.summaries(None)


async def test_a_connection_that_breaks_during_a_call_is_replaced_once(server: RedisServer, store: Redis) -> None:
    breaks = 1

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal breaks
        from_redis, to_redis = await asyncio.open_unix_connection(server.socket)
        answers = asyncio.create_task(pipe(from_redis, writer))
        while data := await reader.read(65536):
            if b"EVALSHA" in data and breaks:
                breaks -= 1
                break
            to_redis.write(data)
        to_redis.close()
        await answers

    proxy = await asyncio.start_server(relay, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    async with proxy, opened(f"redis://127.0.0.1:{port}") as backend:
        await backend.publish(record())
        assert breaks == 0
        assert await store.hlen(f"mx:source:{SOURCE}:w") == 2
        breaks = 2
        with pytest.raises(BackendError, match=f"Redis at 127.0.0.1:{port}: .*[Cc]onnection"):
            await backend.update_state(key(), state())
        assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED


async def test_a_server_without_room_refuses_the_record_and_keeps_what_it_has(backend: Backend, store: Redis) -> None:
    await backend.publish(record())
    await store.config_set("maxmemory", "1")
    try:
        with pytest.raises(BackendError, match="OOM"):
            await backend.publish(record(key("another")))
        # Reading needs no room.
        assert [summary.key.worker_id for summary in await backend.summaries(None)] == ["w"]
        assert await backend.get(SOURCE, "w") is not None
    finally:
        await store.config_set("maxmemory", "0")


async def test_a_server_that_became_a_replica_is_not_ready_and_is_dialled_anew() -> None:
    with RedisServer() as server:
        async with opened(f"redis://127.0.0.1:{server.port}") as backend, Redis(port=server.port) as admin:
            await backend.ping()
            await backend.publish(record())
            before = {client["id"] for client in await admin.client_list()} - {str(await admin.client_id())}
            await admin.replicaof("127.0.0.1", "1")
            with pytest.raises(BackendError, match="READONLY"):
                await backend.update_state(key(), state())
            assert before
            # The server may take a moment to see that they were closed.
            while before & {client["id"] for client in await admin.client_list()}:
                pass
            with pytest.raises(BackendError, match="read only replica"):
                await backend.ping()
            await admin.replicaof("NO", "ONE")
            await backend.ping()
            assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED


async def test_a_server_that_forgot_the_scripts_is_told_them_again(backend: Backend, store: Redis) -> None:
    await backend.publish(record())
    await store.script_flush()
    assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED
    assert len(await backend.summaries(None)) == 1


async def test_more_calls_than_connections_all_come_to_their_end(backend: Backend) -> None:
    await backend.publish(record())
    outcomes = await asyncio.gather(*(backend.update_state(key(), state(updated_at_ms=NOW_MS + n)) for n in range(300)))
    assert UpdateOutcome.APPLIED in outcomes
    (summary,) = await backend.summaries(SOURCE)
    assert summary.state.updated_at_ms == NOW_MS + 299


async def test_a_call_that_is_cancelled_leaves_the_next_ones_their_own_answers(backend: Backend) -> None:
    await backend.publish(record())
    for _ in range(20):
        call = asyncio.create_task(backend.get(SOURCE, "w"))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED


class Source:
    """One worker's publications and heartbeats through one replica, and what of them was acknowledged.

    Attributes:
        acknowledged: Time of the last state that the store took; 0 while it has none.
    """

    def __init__(self, name: str, replica: Backend) -> None:
        self.key = key(name)
        self.acknowledged = 0
        self._replica = replica

    async def run(self, working: asyncio.Semaphore) -> None:
        """Publish once and beat until the store fails; `working` counts what it took."""
        latest = state(SourceStatus.INITIALIZING)
        try:
            await self._replica.publish(record(self.key, latest))
            while True:
                self.acknowledged = latest.updated_at_ms
                working.release()
                latest = state(updated_at_ms=latest.updated_at_ms + 1, source_load=(latest.updated_at_ms % 100) / 100)
                assert await self._replica.update_state(self.key, latest) is UpdateOutcome.APPLIED
        except BackendError:
            return


async def test_a_killed_server_that_keeps_a_log_loses_nothing_acknowledged() -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        async with opened(f"redis://127.0.0.1:{server.port}") as one, opened(f"unix://{server.socket}") as other:
            sources = [Source(f"w{n}", (one, other)[n % 2]) for n in range(10)]
            working = asyncio.Semaphore(0)
            running = asyncio.gather(*(source.run(working) for source in sources))
            for _ in range(500):
                await working.acquire()
            while not all(source.acknowledged for source in sources):
                await working.acquire()
            server.kill()
            await running
            server.start()

            # On the connections of before, which are replaced without a failed call.
            for replica in (one, other):
                found = {summary.key: summary.state for summary in await replica.summaries(None)}
                for source in sources:
                    assert found[source.key].updated_at_ms >= source.acknowledged > 0
                    whole = await replica.get(SOURCE, source.key.worker_id)
                    assert whole is not None
                    published = WorkerMetadata.FromString(record(source.key).metadata)
                    assert WorkerMetadata.FromString(whole.metadata) == published


async def test_a_killed_server_that_keeps_no_log_rejects_heartbeats_until_sources_publish_again() -> None:
    identity = SourceIdentity(model_name="модель/Ж")
    publication = PublishMetadataRequest(identity=identity, worker_id="w", worker=WorkerMetadata(agent_name="agent"))
    with RedisServer() as server:
        async with opened(f"redis://127.0.0.1:{server.port}") as backend:
            service = RegistryService(backend)
            source_id = (await service.publish_metadata(publication)).mx_source_id

            async def beat() -> UpdateStatusResponse:
                return await service.update_status(
                    UpdateStatusRequest(
                        mx_source_id=source_id, worker_id="w", status=WireStatus.SOURCE_STATUS_READY, source_load=0.0
                    )
                )

            assert (await beat()).success
            server.kill()
            down = await beat()
            assert not down.success
            assert f"the store failed: Redis at 127.0.0.1:{server.port}" in down.message

            server.start()
            rejections = [await beat(), await beat()]
            assert not any(rejection.success for rejection in rejections)
            assert "the store failed" not in rejections[0].message
            assert (await service.publish_metadata(publication)).mx_source_id == source_id
            assert (await beat()).success
            (summary,) = await backend.summaries(source_id)
            assert summary.state.source_load == 0.0

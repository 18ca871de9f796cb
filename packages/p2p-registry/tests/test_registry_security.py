"""Who gets in: certificates and tokens from files that change meanwhile, sizes and rates; and who isn't kept waiting for it."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from certificates import Authority, Pair
from registry_bench import SERVING, Store, beat, check, dialled, publish

from p2p_registry import MemoryBackend
from p2p_registry._admission import MOST_ADDRESSES, Admission, RateLimit
from p2p_registry._files import Kept, TokenFile
from p2p_registry.errors import BindError, CredentialFileError, SettingError
from p2p_registry.server import SERVICE_NAME, RegistryStub
from p2p_registry.serving import RegistryServer, ServerConfig, is_loopback, split_address
from p2p_registry.wire import ListSourcesRequest, PublishMetadataRequest, SourceIdentity, WorkerMetadata

HERE = "127.0.0.1:0"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def others(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "others")


def tls(pair: Pair, client_ca: Authority | None = None) -> dict[str, Any]:
    settings = {"listen": HERE, "tls_cert_file": pair.cert, "tls_key_file": pair.key}
    return settings if client_ca is None else settings | {"tls_client_ca_file": client_ca.ca_file}


def trust(ca: Authority, client: Pair | None = None) -> grpc.ChannelCredentials:
    key, cert = (None, None) if client is None else (client.key.read_bytes(), client.cert.read_bytes())
    return grpc.ssl_channel_credentials(ca.ca.cert_pem.bytes(), key, cert)


async def look(server: RegistryServer, times: int = 2) -> None:
    """Have the server look at its files."""
    for _ in range(times):
        for each in server._files:
            await asyncio.to_thread(each.refresh)


async def shown(server: RegistryServer) -> bytes:
    """The certificate that a new client sees."""
    host, _, port = server.address.rpartition(":")
    return (await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)), timeout=30)).encode()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "p2p_registry._files"]


async def test_a_connection_outlives_the_rotation_after_which_new_ones_see_the_new_certificate(
    ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    pair = ours.issue("registry")
    async with (
        RegistryServer(MemoryBackend(), ServerConfig(**tls(pair))) as server,
        dialled(server.address, trust(ours)) as before,
    ):
        source_id = await publish(RegistryStub(before), "w")
        old = pair.cert.read_bytes()
        assert await shown(server) == old
        key = pair.key.read_bytes()
        ours.issue("registry")
        new_key = pair.key.read_bytes()
        pair.key.write_bytes(key)
        await look(server)  # half exchanged: the old pair stands
        assert await shown(server) == old
        pair.key.write_bytes(new_key)
        await look(server)
        assert await shown(server) == pair.cert.read_bytes() != old
        assert (await beat(RegistryStub(before), source_id, "w")).success
        async with dialled(server.address, trust(ours)) as after:
            assert (await beat(RegistryStub(after), source_id, "w")).success
    half, good, changed = told(caplog)
    assert half == (
        f"tls_key_file={pair.key} can't be used: it isn't the key of the certificate in {pair.cert}; "
        "what was read before stands"
    )
    assert good == "the files can be used again"
    assert changed == "the certificate files have changed: new connections get the new ones"


async def test_a_folder_exchanged_by_its_link_is_noticed_as_kubernetes_does_it(ours: Authority) -> None:
    link = ours.folder / "data"

    def mount(version: str) -> Pair:
        (ours.folder / version).mkdir()
        pair = ours.issue(f"{version}/tls")
        link.with_name("next").symlink_to(ours.folder / version)
        link.with_name("next").replace(link)
        return pair

    mount("1")
    async with RegistryServer(MemoryBackend(), ServerConfig(**tls(Pair(link / "tls.pem", link / "tls.key")))) as server:
        newest = mount("2")
        await look(server)
        assert await shown(server) == newest.cert.read_bytes()


async def test_with_a_client_ca_only_its_certificates_get_in_and_the_ca_is_exchanged_too(
    ours: Authority, others: Authority
) -> None:
    client, stranger = ours.issue("client", "client"), others.issue("client", "client")
    expired = ours.issue("expired", "client", ended_days_ago=1)
    async with RegistryServer(MemoryBackend(), ServerConfig(**tls(ours.issue("registry"), ours))) as server:

        async def gets_in(pair: Pair | None) -> bool:
            async with dialled(server.address, trust(ours, pair)) as channel:
                call = RegistryStub(channel).ListSources(ListSourcesRequest(), timeout=30)
                code = await call.code()
                assert code in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
                return code is grpc.StatusCode.OK

        assert [await gets_in(each) for each in (client, stranger, expired, None)] == [True, False, False, False]
        ours.ca_file.write_bytes(others.ca_file.read_bytes())
        await look(server)
        assert [await gets_in(each) for each in (client, stranger, None)] == [False, True, False]


@pytest.mark.parametrize(
    ("setting", "content", "why"),
    [
        ("tls_cert_file", None, "No such file"),
        ("tls_key_file", None, "No such file"),
        ("tls_client_ca_file", None, "No such file"),
        ("auth_token_file", None, "No such file"),
        ("tls_cert_file", "soon", "certificate chain and unencrypted key in PEM are needed"),
        ("tls_key_file", "soon", "certificate chain and unencrypted key in PEM are needed"),
        ("tls_client_ca_file", "soon", "it holds no PEM certificate"),
        ("auth_token_file", "\n \n", "it holds no token: write one a line"),
        ("auth_token_file", "two words", "a token holds other than printable ASCII"),
        ("auth_token_file", "x" * 65_537, "it is longer than 65536 bytes"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_at_the_start_and_nothing_of_it_told(
    ours: Authority, setting: str, content: str | None, why: str
) -> None:
    settings = tls(ours.issue("registry"), ours) | {"auth_token_file": ours.folder / "tokens"}
    settings["auth_token_file"].write_text("secret")
    if content is None:
        settings[setting].unlink()
    else:
        settings[setting].write_text(content)
    with pytest.raises(CredentialFileError, match=why) as caught:
        async with RegistryServer(MemoryBackend(), ServerConfig(**settings)):
            pass
    assert f"{setting}={settings[setting]} can't be used" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_two_looks_find_broken_is_told_once_and_what_was_read_before_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    faults: list[str | None] = [None, "a", "b", "b", "b", None, None]
    looks = iter(faults)

    def read() -> str:
        fault = next(looks)
        if fault is not None:
            raise CredentialFileError("auth_token_file", Path("f"), fault)
        return "good"

    kept = Kept(read)
    assert not any(kept.refresh() for _ in faults[1:])
    assert kept.content == "good"
    assert told(caplog) == [
        "auth_token_file=f can't be used: b; what was read before stands",
        "the files can be used again",
    ]


async def test_calls_need_a_token_of_the_file_which_changes_without_a_restart(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("old\n")
    async with (
        RegistryServer(Store(), ServerConfig(listen=HERE, auth_token_file=tokens)) as server,
        dialled(server.address) as channel,
    ):
        stub = RegistryStub(channel)

        async def code(*authorizations: str) -> grpc.StatusCode:
            call = stub.ListSources(
                ListSourcesRequest(), metadata=grpc.aio.Metadata(*(("authorization", text) for text in authorizations))
            )
            return await call.code()

        refused, taken = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.OK
        assert await code() is refused
        # Nothing was parsed for it: what can't be is answered otherwise.
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE_NAME}/PublishMetadata")
        assert await call(b"\xff\xff\xff").code() is refused
        assert [await code(text) for text in ("Bearer old", "bearer  old ", "Bearer new", "Basic old", "old")] == [
            taken, taken, refused, refused, refused
        ]  # fmt: skip
        assert await code("Bearer old", "Bearer old") is refused
        tokens.write_text("new\nold\n")
        await look(server)
        assert (await code("Bearer old"), await code("Bearer new")) == (taken, taken)
        tokens.write_text("new\n")
        await look(server)
        assert (await code("Bearer old"), await code("Bearer new")) == (refused, taken)
        tokens.unlink()
        await look(server)
        assert await code("Bearer new") is taken
        # A kubelet's probe has no token.
        assert await check(channel) == SERVING


async def test_a_request_above_the_size_limit_is_a_grpc_error_and_stores_nothing() -> None:
    config = ServerConfig(listen=HERE, max_message_bytes=10_000)
    async with RegistryServer(MemoryBackend(), config) as server, dialled(server.address) as channel:
        stub = RegistryStub(channel)
        big = WorkerMetadata(nixl_metadata=b"x" * 10_000)
        call = stub.PublishMetadata(
            PublishMetadataRequest(identity=SourceIdentity(model_name="m"), worker=big, worker_id="big")
        )
        assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "10000" in (await call.details() or "")
        await publish(stub, "small")
        listed = await stub.ListSources(ListSourcesRequest())
        assert [each.worker_id for each in listed.instances] == ["small"]


async def test_an_address_that_sends_too_much_gets_grpc_errors_while_probes_go_on() -> None:
    config = ServerConfig(listen=HERE, max_requests_per_second=5)
    async with RegistryServer(MemoryBackend(), config) as server, dialled(server.address) as channel:
        stub = RegistryStub(channel)
        calls = [stub.ListSources(ListSourcesRequest()) for _ in range(40)]
        codes = [await call.code() for call in calls]
        assert codes.count(grpc.StatusCode.OK) >= 5
        assert codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED) >= 1
        assert {await call.details() for call in calls if await call.code() is not grpc.StatusCode.OK} == {
            "more than 5 requests a second came from this address: send fewer"
        }
        assert await check(channel) == SERVING


def test_the_limit_is_a_mean_with_a_second_at_once_for_each_address_alone() -> None:
    limit = RateLimit(10)
    assert [limit.admits("a", 0.0) for _ in range(12)] == [True] * 10 + [False] * 2
    assert limit.admits("b", 0.0)
    assert [limit.admits("a", 0.2) for _ in range(3)] == [True, True, False]
    # A sender at exactly the limit is never refused, however long it goes on.
    steady = RateLimit(10)
    assert all(steady.admits("a", tick / 10) for tick in range(10_000))


def test_addresses_at_rest_are_forgotten_and_those_in_use_are_not() -> None:
    limit = RateLimit(1)
    for number in range(MOST_ADDRESSES):
        assert limit.admits(f"{number}", 0.0)
    assert limit.admits("busy", 1.5)
    assert len(limit._free_at) == 1
    assert not limit.admits("busy", 1.5)


def test_who_guesses_tokens_is_held_back_too(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("right")
    guard = Admission(TokenFile(tmp_path / "tokens"), RateLimit(1), now_seconds=lambda: 5.0)
    metadata = [("authorization", "Bearer guess")]
    first, second = (guard.refusal(f"ipv4:10.0.0.1:{port}", metadata) for port in (1, 2))
    assert first is not None
    assert second is not None
    assert (first.code, second.code) == (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.RESOURCE_EXHAUSTED)


async def test_by_default_there_are_no_limits_and_no_token() -> None:
    async with RegistryServer(MemoryBackend(), ServerConfig(listen=HERE)) as server, dialled(server.address) as channel:
        stub = RegistryStub(channel)
        codes = [await call.code() for call in [stub.ListSources(ListSourcesRequest()) for _ in range(200)]]
    assert set(codes) == {grpc.StatusCode.OK}


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"tls_cert_file": Path("c")}, "tls_cert_file=c needs tls_key_file: give both"),
        ({"tls_key_file": Path("k")}, "tls_key_file=k needs tls_cert_file: give both"),
        ({"tls_client_ca_file": Path("a")}, "tls_client_ca_file=a needs tls_cert_file: give both"),
        (
            {"listen": "0.0.0.0:1", "auth_token_file": Path("t")},
            "auth_token_file=t would have tokens sent in plaintext to 0.0.0.0:1",
        ),
        ({"max_message_bytes": 0}, "max_message_bytes=0 is not allowed"),
        ({"max_requests_per_second": 0}, "max_requests_per_second=0 is not allowed"),
        ({"listen": ":8001"}, "listen=:8001 is not HOST:PORT"),
        ({"listen": "localhost"}, "listen=localhost is not HOST:PORT"),
        ({"listen": "::1:8001"}, "listen=::1:8001 is not HOST:PORT"),
        ({"listen": "localhost:65536"}, "listen=localhost:65536 is not HOST:PORT"),
        ({"listen": "localhost:-1"}, "listen=localhost:-1 is not HOST:PORT"),
    ],
)
def test_settings_that_promise_what_is_not_there_are_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(SettingError) as caught:
        ServerConfig(**settings)
    assert str(caught.value).startswith(fault)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:1", True), ("[::1]:1", True), ("localhost:1", True), ("LOCALHOST:1", True),
        ("0.0.0.0:1", False), ("[::]:1", False), ("registry:1", False), ("10.0.0.1:1", False),
    ],
)  # fmt: skip
def test_only_loopback_addresses_are_this_machine(address: str, expected: bool) -> None:
    split_address("listen", address)
    assert is_loopback(address) is expected


async def test_a_taken_or_foreign_address_is_refused_with_what_to_do() -> None:
    async with RegistryServer(MemoryBackend(), ServerConfig(listen=HERE)) as server:
        for address, why in (
            (server.address, "another process listens there"),
            ("203.0.113.1:0", "no interface of this machine has that address"),
            ("no..name:0", "the host has no address"),
        ):
            with pytest.raises(BindError, match=why):
                async with RegistryServer(MemoryBackend(), ServerConfig(listen=address)):
                    pass


async def test_a_wildcard_is_never_the_default_and_in_plaintext_is_warned_of(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The wildcard is taken for what it says, but nothing is opened to the network here.
    real: Callable[[grpc.aio.Server, str], int] = grpc.aio.Server.add_insecure_port
    monkeypatch.setattr("p2p_registry.serving.grpc.aio.Server.add_insecure_port", lambda s, _: real(s, HERE))
    monkeypatch.setattr("p2p_registry.serving.check_bindable", lambda *_: asyncio.sleep(0))
    assert is_loopback(ServerConfig().listen)
    async with RegistryServer(MemoryBackend(), ServerConfig(listen="0.0.0.0:0")):
        pass
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warning.startswith("the registry is served in plaintext on 0.0.0.0:0: whoever reaches it can list, publish")

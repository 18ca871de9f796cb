"""Getting a metrics text from servers that behave, and from those that don't."""

import re
import socket
import ssl
import time
from pathlib import Path

import pytest
import trustme
from metrics_server import MetricsServer, in_thread, metrics, sends, serving

from nic_metrics import MetricsText, MetricsUrl, MetricsUrlError, ScrapeError, ScrapeProblem

BODY = b"vllm:kv_cache_usage_perc 0.5\n"
SOON = 0.2
"""A deadline that is waited for."""
LATE = 20.0
"""A deadline that no test should see."""


def problem(server: MetricsServer, deadline_seconds: float = LATE, max_bytes: int = 10_000) -> ScrapeProblem:
    with pytest.raises(ScrapeError) as caught:
        MetricsUrl(server.url).fetch(deadline_seconds=deadline_seconds, max_bytes=max_bytes)
    assert str(caught.value).startswith(server.url)
    return caught.value.problem


def test_a_text_is_got_with_its_type() -> None:
    with serving(sends(metrics(BODY, "text/plain; version=0.0.4"))) as server:
        assert MetricsUrl(f"{server.url}?x=1#y").fetch(deadline_seconds=LATE) == MetricsText(
            BODY, "text/plain; version=0.0.4"
        )
    (request,) = server.requests
    assert request.startswith(b"GET /metrics?x=1 HTTP/1.1\r\n")
    assert b"accept: text/plain;version=0.0.4" in request
    assert b"Accept-Encoding: identity" in request


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n" + BODY + b"\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\n" + metrics(BODY),
        metrics(BODY, "Text/Plain"),
        metrics(BODY, more="Connection: close\r\nContent-Encoding: Identity\r\n"),
    ],
)
def test_every_framing_of_http_is_read(answer: bytes) -> None:
    with serving(sends(answer)) as server:
        assert MetricsUrl(server.url).fetch(deadline_seconds=LATE).body == BODY


def test_a_server_that_hangs_costs_the_deadline_and_no_more() -> None:
    with serving() as server:
        before = time.monotonic()
        assert problem(server, SOON) is ScrapeProblem.DEADLINE
        assert SOON <= time.monotonic() - before < LATE


def test_a_server_that_drips_costs_the_deadline_and_no_more() -> None:
    with serving() as server:
        server.answer = server.drip
        before = time.monotonic()
        assert problem(server, SOON, max_bytes=10**9) is ScrapeProblem.DEADLINE
        assert SOON <= time.monotonic() - before < LATE


def test_a_head_that_drips_costs_the_deadline_and_no_more() -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not server.over.wait(0.005):
            connection.sendall(b"x")

    with serving() as server:
        server.answer = drip
        assert problem(server, SOON) is ScrapeProblem.DEADLINE


def test_a_server_that_never_accepts_costs_the_deadline_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        url = MetricsUrl(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        with pytest.raises(ScrapeError) as caught:
            url.fetch(deadline_seconds=SOON)
        assert caught.value.problem is ScrapeProblem.DEADLINE


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with serving(sends(metrics(BODY))) as elsewhere:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n"
        with serving(sends(head.encode())) as server:
            assert problem(server) is ScrapeProblem.REDIRECTED
        assert elsewhere.requests == []


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(sends(metrics(b"proxied 1\n"))) as proxy, serving(sends(metrics(BODY))) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert MetricsUrl(server.url).fetch(deadline_seconds=LATE).body == BODY
        assert proxy.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/metrics",
        "unix:/run/metrics",
        "/metrics",
        "127.0.0.1:8000/metrics",
        "http://",
        "http:///metrics",
        "http://127.0.0.1:0/metrics",
        "http://127.0.0.1:65536/metrics",
        "http://127.0.0.1:x/metrics",
        "http://[::1/metrics",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/\r\nX: y",
        "http://host/ü",
        f"http://{'x' * 64}/metrics",
        "http://a..b/metrics",
        "",
    ],
)
def test_what_is_no_address_of_http_is_refused(url: str) -> None:
    with pytest.raises(MetricsUrlError, match=r"give an address such as 'http://127\.0\.0\.1:8000/metrics'"):
        MetricsUrl(url)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(MetricsUrlError) as caught:
        MetricsUrl("http://user:secret@127.0.0.1/metrics")
    assert "secret" not in str(caught.value) + repr(caught.value)
    assert caught.value.url == ""


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 503 Service Unavailable", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 401 No", b"HTTP/1.1 204 Nothing"],
)
def test_another_status_than_200_is_no_text(head: bytes) -> None:
    with serving(sends(head + b"\r\nContent-Length: 29\r\n\r\n" + BODY)) as server:
        assert problem(server) is ScrapeProblem.BAD_STATUS


def test_a_404_says_where_metrics_mostly_are() -> None:
    with (
        serving(sends(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")) as server,
        pytest.raises(ScrapeError, match="mostly at /metrics"),
    ):
        MetricsUrl(server.url).fetch(deadline_seconds=LATE)


@pytest.mark.parametrize("kind", ["text/html", "application/json", "application/vnd.google.protobuf", "text/plainest"])
def test_another_type_is_no_text_even_when_a_metric_stands_in_it(kind: str) -> None:
    with serving(sends(metrics(BODY, kind))) as server:
        assert problem(server) is ScrapeProblem.NOT_METRICS


def test_a_packed_text_that_nobody_asked_for_is_refused() -> None:
    with serving(sends(metrics(BODY, more="Content-Encoding: gzip\r\n"))) as server:
        assert problem(server) is ScrapeProblem.NOT_METRICS


@pytest.mark.parametrize(
    "answer",
    [
        metrics(BODY * 1_000),
        b"HTTP/1.1 200 OK\r\n\r\n" + BODY * 1_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7148\r\n" + BODY * 1_000 + b"\r\n0\r\n\r\n",
        # A length that makes http.client read until the server ends.
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n" + BODY * 1_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000,
    ],
)
def test_no_more_than_the_limit_is_taken(answer: bytes) -> None:
    with serving(sends(answer)) as server:
        assert problem(server) is ScrapeProblem.TOO_LARGE


@pytest.mark.parametrize(
    "answer",
    [
        # Longer than it is.
        metrics(BODY)[:-1].replace(b"29", b"99"),
        metrics(BODY).replace(b"29", b"99"),
        metrics(BODY)[: -len(BODY)],
        # Shorter than it is: 0.5 of what may have been 0.57.
        metrics(BODY).replace(b"29", b"28"),
        # Without a length the end of the connection is the end, if it is the end of a line.
        b"HTTP/1.1 200 OK\r\n\r\n" + BODY[:-1],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n" + BODY,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n" + BODY[:9],
    ],
)
def test_a_text_that_was_cut_off_is_no_text(answer: bytes) -> None:
    with serving(sends(answer)) as server:
        assert problem(server) is ScrapeProblem.BROKEN_OFF


def test_a_whole_text_may_do_without_its_last_line_feed() -> None:
    with serving(sends(metrics(BODY[:-1]))) as server:
        assert MetricsUrl(server.url).fetch(deadline_seconds=LATE).body == BODY[:-1]


def test_a_whole_text_without_line_feed_from_a_server_that_stays_is_taken_at_the_deadline() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(metrics(BODY[:-1]))
        server.over.wait()

    with serving() as server:
        server.answer = answer
        assert MetricsUrl(server.url).fetch(deadline_seconds=1.0).body == BODY[:-1]


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\x16\x03\x01" + b"\0" * 99,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_http_is_no_text(answer: bytes) -> None:
    with serving(sends(answer)) as server:
        assert problem(server) is ScrapeProblem.NOT_HTTP


def test_a_server_that_closes_at_once_is_unreachable() -> None:
    with serving(sends(b"")) as server:
        assert problem(server) is ScrapeProblem.UNREACHABLE


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    with serving(sends(metrics(BODY))) as server:
        pass
    assert problem(server) is ScrapeProblem.UNREACHABLE


def test_the_second_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(sends(metrics(BODY))) as server, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", each)
            for each in (nobody.getsockname(), ("127.0.0.1", server.port))
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        assert MetricsUrl("http://engine:1/metrics").fetch(deadline_seconds=LATE).body == BODY


def test_limits_must_be_above_0() -> None:
    for arguments in ({"deadline_seconds": 0.0}, {"deadline_seconds": float("nan")}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="must be above 0"):
            MetricsUrl("http://127.0.0.1:1/").fetch(**arguments)


def test_https_checks_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve_once() -> None:
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as wrapped:
                    wrapped.recv(65_536)
                    wrapped.sendall(metrics(BODY))
            except OSError:
                connection.close()

        url = MetricsUrl(f"https://127.0.0.1:{listener.getsockname()[1]}/metrics")
        for trusted in (False, True):
            if trusted:
                monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
            with in_thread(serve_once):
                if trusted:
                    assert url.fetch(deadline_seconds=LATE).body == BODY
                else:
                    with pytest.raises(ScrapeError) as caught:
                        url.fetch(deadline_seconds=LATE)
                    assert caught.value.problem is ScrapeProblem.UNREACHABLE
                    assert re.search("CERTIFICATE_VERIFY_FAILED|certificate verify failed", str(caught.value))

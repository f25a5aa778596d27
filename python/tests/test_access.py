"""Who may come in: TLS by fingerprint and CA, tokens, addresses; and what a caller is told where it does not fit."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from conftest import Cluster

from keima import AccessDenied, Client, KeimaError, Refused, Unreachable, Untrusted, UsageError, VersionMismatch, client
from keima.access import Access

PRINT = "sha256:" + "0" * 64


def tls(cluster: Cluster, role: str = "client") -> dict[str, Any]:
    return {"token_file": cluster.folder / "data" / "tls" / f"{role}.token"}


def fingerprint(cluster: Cluster) -> str:
    import hashlib
    import ssl

    pem = (cluster.folder / "data" / "tls" / "coordinator.pem").read_text()
    return "sha256:" + hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def test_the_fingerprint_that_the_coordinator_prints(secure: Cluster) -> None:
    log = (secure.folder / "coordinator.log").read_text()
    printed = re.search(r"sha256:[0-9a-f]{64}", log)
    assert printed is None or printed[0] == fingerprint(secure)
    digits = fingerprint(secure).removeprefix("sha256:")
    colons = "sha256:" + ":".join(digits[at : at + 2] for at in range(0, 64, 2)).upper()
    for text in (fingerprint(secure), f" {colons.replace('SHA256', 'sha256')} "):
        with Client(secure.url, fingerprint=text, **tls(secure)) as named:
            assert named.jobs() == () or named.jobs()[0].job == "j1"


def test_a_ca(secure: Cluster) -> None:
    ca = secure.folder / "data" / "tls" / "ca.pem"
    with Client(secure.url, tls_ca=ca, **tls(secure)) as named:
        job = named.submit("go", "5x5")
        named.cancel(job)
    with Client(secure.url, tls_ca=str(ca), **tls(secure, "reader")) as reader:
        assert reader.status(job).state.is_over
        with pytest.raises(AccessDenied, match=r"client\.token may submit") as denied:
            reader.submit("go", "5x5")
        assert (denied.value.code, denied.value.kind) == ("PERMISSION_DENIED", "wrong-role")
        assert denied.value.address == secure.url and not denied.value.may_pass


def test_variables_are_the_programs(secure: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEIMA_COORDINATOR", secure.url)
    monkeypatch.setenv("KEIMA_FINGERPRINT", fingerprint(secure))
    monkeypatch.setenv("KEIMA_TLS_CA", "")
    monkeypatch.setenv("KEIMA_TOKEN_FILE", str(tls(secure)["token_file"]))
    with Client() as named:
        named.jobs()


def test_another_server_gets_no_token(secure: Cluster, tmp_path: Path) -> None:
    with pytest.raises(Untrusted, match=f"fingerprint {fingerprint(secure)}, not {PRINT}"):
        Client(secure.url, fingerprint=PRINT, **tls(secure))
    other = Cluster(secure.program, tmp_path)
    try:
        other.coordinator("--tls-init")
        ca = other.folder / "data" / "tls" / "ca.pem"
        with (
            Client(secure.url, tls_ca=ca, **tls(secure)) as wrong,
            pytest.raises(Untrusted, match="not the one that is trusted"),
        ):
            wrong.jobs()
        # The right server, but a token of another one.
        with (
            Client(secure.url, fingerprint=fingerprint(secure), **tls(other)) as stranger,
            pytest.raises(AccessDenied) as denied,
        ):
            stranger.jobs()
        assert denied.value.kind == "no-credentials"
    finally:
        other.close()


def test_a_server_that_changes_its_certificate_is_not_trusted_again(cluster: Cluster) -> None:
    cluster.coordinator("--tls-init")
    with Client(cluster.url, fingerprint=fingerprint(cluster), **tls(cluster)) as named:
        named.jobs()
        cluster.kill("coordinator")
        token = tls(cluster)["token_file"].read_text()
        shutil.rmtree(cluster.folder / "data" / "tls")
        cluster.coordinator("--tls-init")
        with pytest.raises(Untrusted, match="has fingerprint"):
            for _ in range(100):
                try:
                    named.jobs()
                except Unreachable:
                    continue
        assert token not in (cluster.folder / "coordinator.log").read_text()


def test_tls_and_plain_text_do_not_mix(secure: Cluster, plain: Cluster) -> None:
    with Client(secure.url.replace("https", "http")) as named, pytest.raises(Refused, match="https://"):
        named.jobs()
    with pytest.raises(Untrusted, match="does not speak TLS"):
        Client(plain.url.replace("http", "https"), fingerprint=PRINT, **tls(secure))
    ca = secure.folder / "data" / "tls" / "ca.pem"
    with (
        Client(plain.url.replace("http", "https"), tls_ca=ca, **tls(secure)) as named,
        pytest.raises(Untrusted, match="does not speak TLS"),
    ):
        named.jobs()


def test_another_version_is_refused(plain: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PROTOCOL_VERSION", 1)
    with Client(plain.url) as old, pytest.raises(VersionMismatch, match="version 1") as refused:
        old.jobs()
    assert refused.value.kind == "version" and not refused.value.may_pass


def test_nobody_is_there(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("0123456789abcdef" * 4)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(url) as named, pytest.raises(Unreachable, match="keima coordinator") as away:
            named.jobs()
        assert away.value.may_pass and away.value.code == "UNAVAILABLE"
        with Client(url) as named, pytest.raises(Unreachable):
            list(named.watch("j1", patience_seconds=0.3))
        with pytest.raises(Unreachable):
            Client(url.replace("http", "https"), fingerprint=PRINT, token_file=token)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://head:7700", "http://head:7700"),
        ("HTTP://head:7700/", "http://head:7700"),
        (" head:7700 ", "http://head:7700"),
        ("[::1]:7700", "http://[::1]:7700"),
        ("http://head", "http://head:80"),
        ("grpcs://head:7700", "write https://head:7700"),
        ("unix:///run/keima", "there is no unix://"),
        ("", "expected HOST:PORT"),
        ("http://", "expected HOST:PORT"),
        ("http://head:port", "expected HOST:PORT"),
        ("http://head:7700/jobs", "expected HOST:PORT"),
        ("http://me@head:7700", "expected HOST:PORT"),
        ("https://head:7700", "TLS needs to know the coordinator"),
    ],
)
def test_addresses(address: str, expected: str) -> None:
    try:
        got = Access.of(address).url
    except UsageError as error:
        got = str(error)
    assert expected in got


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"coordinator": "http://a:1", "token_file": "t"}, "token_file is for TLS"),
        (
            {"coordinator": "http://a:1", "fingerprint": PRINT, "token_file": "t"},
            "fingerprint and token_file are for TLS",
        ),
        ({"coordinator": "https://a:1", "fingerprint": PRINT}, "a token is missing"),
        ({"coordinator": "https://a:1", "fingerprint": PRINT, "tls_ca": "c", "token_file": "t"}, "exclude each other"),
        ({"coordinator": "https://a:1", "fingerprint": "sha256:12", "token_file": "t"}, "64 hex digits"),
        ({"coordinator": "https://a:1", "fingerprint": "0" * 64, "token_file": "t"}, "64 hex digits"),
    ],
)
def test_what_does_not_go_together(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Access.of(**given)


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("0123456789abcdef" * 2, 0o600, None),
        ("0123456789abcdef" * 4 + "\n", 0o640, None),
        ("0123456789abcdef" * 4, 0o644, "chmod 600"),
        ("short-and-secret", 0o600, "32 to 256"),
        ("x" * 257, 0o600, "32 to 256"),
        ("0123456789abcdef 0123456789abcdef", 0o600, "32 to 256"),
    ],
)
def test_token_files(tmp_path: Path, text: str, mode: int, words: str | None) -> None:
    from keima.access import read_token

    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    if words is None:
        assert read_token(path) == text.strip()
        return
    with pytest.raises(KeimaError, match=words) as refused:
        read_token(path)
    assert text not in str(refused.value)


def test_proxies_are_not_used(plain: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with Client(plain.url) as named:
        named.jobs()

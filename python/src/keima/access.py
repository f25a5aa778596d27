"""The way to a coordinator: its address, whom to trust, and the token that is shown; as the program's options have it.

TLS needs a fingerprint or a CA, and a token. Plain text takes none of them, so that no secret ever travels openly. The
CAs of the system are never used, and proxies of the environment are not either.

gRPC trusts CAs only. To trust a fingerprint, the server's certificate is fetched first, compared, and then taken as the only
CA of the connection: gRPC itself then proves with every handshake that the server has the certificate's key. The token is
read before, but sent over that connection alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import grpc

from keima.errors import Refused, Unreachable, Untrusted, UsageError

_FINGERPRINT = re.compile(r"sha256:([0-9a-f]{64})")
#: Time for one connection that fetches a certificate.
_GREETING_SECONDS = 10.0
#: The same for a look whether a server speaks TLS at all.
_LOOK_SECONDS = 3.0
#: Shortest and longest token in characters.
_TOKEN_CHARS = range(32, 257)
#: Most bytes of a file with a token or a CA.
_FILE_BYTES = 256 << 10
#: Largest answer of a coordinator.
_ANSWER_BYTES = 64 << 20

_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_receive_message_length", _ANSWER_BYTES),
    ("grpc.enable_http_proxy", 0),
    # A coordinator that is started again is found soon.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A dead connection ends a watch, which then connects again.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
]


@dataclass(frozen=True, slots=True)
class Access:
    """Where a coordinator is, and what is brought there."""

    #: ``https://HOST:PORT`` or ``http://HOST:PORT``.
    url: str
    host: str
    port: int
    is_tls: bool
    #: 64 hex digits; empty without one.
    fingerprint: str = ""
    tls_ca: Path | None = None
    token_file: Path | None = None

    @classmethod
    def of(
        cls,
        coordinator: str | None = None,
        fingerprint: str | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
        token_file: str | os.PathLike[str] | None = None,
    ) -> Access:
        """What is not given comes from ``KEIMA_COORDINATOR``, ``KEIMA_FINGERPRINT``, ``KEIMA_TLS_CA`` and
        ``KEIMA_TOKEN_FILE``. An empty variable is none; an empty address is refused."""
        if coordinator is None:
            coordinator = os.environ.get("KEIMA_COORDINATOR", "http://127.0.0.1:7700")
        url, host, port, is_tls = _address(coordinator)
        if fingerprint is None and tls_ca is None:
            fingerprint, tls_ca = os.environ.get("KEIMA_FINGERPRINT"), os.environ.get("KEIMA_TLS_CA")
        if token_file is None:
            token_file = os.environ.get("KEIMA_TOKEN_FILE")
        digits = _fingerprint(fingerprint) if fingerprint and fingerprint.strip() else ""
        given = {"fingerprint": bool(digits), "tls_ca": bool(tls_ca), "token_file": bool(token_file)}
        if not is_tls:
            if typed := [name for name, is_given in given.items() if is_given]:
                raise UsageError(
                    f"{' and '.join(typed)} {'is' if len(typed) == 1 else 'are'} for TLS, and {url} is plain text",
                    advice="write https:// if the coordinator speaks TLS, or leave that (and its KEIMA_ variable) away",
                )
            return cls(url, host, port, is_tls)
        if given["fingerprint"] and given["tls_ca"]:
            raise UsageError("fingerprint and tls_ca exclude each other", advice="give one of them")
        if not given["fingerprint"] and not given["tls_ca"]:
            raise UsageError(
                f"{url}: TLS needs to know the coordinator",
                advice="give fingerprint='sha256:...', which the coordinator prints at its start, "
                "or tls_ca=FILE with the CA of its certificate",
            )
        if not token_file:
            raise UsageError(
                f"{url}: a token is missing",
                advice="give token_file=FILE: reader.token or client.token of the coordinator's folder tls",
            )
        ca = Path(tls_ca).expanduser() if tls_ca else None
        return cls(url, host, port, is_tls, digits, ca, Path(token_file).expanduser())

    def channel(self) -> grpc.Channel:
        """A channel that connects with its first call. With a fingerprint the certificate is fetched now."""
        target = f"dns:///{_bracketed(self.host)}:{self.port}"
        if not self.is_tls:
            return grpc.insecure_channel(target, options=_OPTIONS)
        options = list(_OPTIONS)
        token = read_token(self.token_file) if self.token_file else ""
        if self.fingerprint:
            roots, name = self._pinned()
            options.append(("grpc.ssl_target_name_override", name))
        else:
            roots = _read(self.tls_ca) if self.tls_ca else b""
            if b"-----BEGIN CERTIFICATE-----" not in roots:
                raise UsageError(
                    f"{self.tls_ca}: no certificate in it", advice="give a file in PEM, such as tls/ca.pem"
                )
        credentials = grpc.composite_channel_credentials(
            grpc.ssl_channel_credentials(root_certificates=roots), grpc.access_token_call_credentials(token)
        )
        return grpc.secure_channel(target, credentials, options=options)

    def _pinned(self) -> tuple[bytes, str]:
        """The certificate with the fingerprint, in PEM, and a name in it; ``Untrusted`` if the server has another one."""
        shown = self._greet(_unverified())
        got = hashlib.sha256(shown[0]).hexdigest()
        if got != self.fingerprint:
            raise Untrusted(
                f"its certificate has fingerprint sha256:{got}, not sha256:{self.fingerprint}",
                address=self.url,
                advice="either it has another certificate now, or somebody stands in between; if the coordinator was set "
                "up anew, take the fingerprint that it prints",
            )
        pem = ssl.DER_cert_to_PEM_cert(shown[0])
        # The names are read from a connection that proves the key. They decide nothing: the certificate is known already.
        context = _unverified()
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=pem)
        return pem.encode(), _name(self._greet(context)[1]) or self.host

    def _greet(self, context: ssl.SSLContext, seconds: float = _GREETING_SECONDS) -> tuple[bytes, dict[str, object]]:
        """Connects, and leaves with the server's certificate: its bytes, and its fields if it was verified."""
        context.set_alpn_protocols(["h2"])
        try:
            with (
                socket.create_connection((self.host, self.port), seconds) as plain,
                context.wrap_socket(plain, server_hostname=None) as greeted,
            ):
                fields: dict[str, object] = dict(greeted.getpeercert() or {})
                return greeted.getpeercert(binary_form=True) or b"", fields
        except ssl.SSLError as error:
            raise self._no_tls(error) from error
        except OSError as error:
            raise Unreachable(str(error), address=self.url, advice=START) from error

    def _no_tls(self, error: ssl.SSLError) -> Untrusted:
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_EOF_WHILE_READING"):
            return Untrusted(
                "the server there does not speak TLS",
                address=self.url,
                advice="if it was started without TLS, write http:// instead of https://",
            )
        return Untrusted(
            f"no TLS connection: {error}", address=self.url, advice="look at the coordinator's certificate"
        )

    def why_not(self) -> Untrusted | Refused | None:
        """Why a connection failed, if the server is not the one that is trusted, or speaks TLS where plain text was tried."""
        if not self.is_tls:
            try:
                self._greet(_unverified(), _LOOK_SECONDS)
            except (Untrusted, Unreachable):
                return None
            advice = "write https:// instead of http://, and give fingerprint (or tls_ca) and token_file"
            return Refused("the server there speaks TLS", address=self.url, advice=advice)
        context = _unverified()
        if self.tls_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.check_hostname = True
            context.load_verify_locations(cadata=_read(self.tls_ca).decode("ascii", "replace"))
        try:
            if self.fingerprint:
                self._pinned()
                return None
            with (
                socket.create_connection((self.host, self.port), _GREETING_SECONDS) as plain,
                context.wrap_socket(plain, server_hostname=self.host),
            ):
                return None
        except Untrusted as error:
            return error
        except ssl.SSLCertVerificationError as error:
            return Untrusted(
                f"the server there is not the one that is trusted: {error.verify_message}",
                address=self.url,
                advice="either it has another certificate now, or somebody stands in between, or its name in the URL does not "
                "stand in the certificate; if the coordinator was set up anew, take its ca.pem",
            )
        except ssl.SSLError as error:
            return self._no_tls(error)
        except (OSError, Unreachable):
            return None


#: What to do where nobody answers.
START = (
    "is the coordinator running? start it with `keima coordinator --listen IP:PORT --data DIR`, and name its address"
)


def _address(address: str) -> tuple[str, str, int, bool]:
    text = address.strip()
    scheme, found, rest = text.partition("://")
    scheme, rest = (scheme.lower(), rest) if found else ("http", text)
    expected = "expected HOST:PORT, http://HOST:PORT or https://HOST:PORT, for example https://10.0.0.7:7700"
    if scheme not in ("http", "https"):
        raise UsageError(
            f"{address!r}: there is no {scheme}://",
            advice=f"write https://{rest} for TLS, or http://{rest} for plain text",
        )
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{address!r} is not the address of a coordinator ({error})", advice=expected) from error
    if not host or parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise UsageError(f"{address!r} is not the address of a coordinator", advice=expected)
    is_tls = scheme == "https"
    port = port or (443 if is_tls else 80)
    return f"{scheme}://{_bracketed(host)}:{port}", host, port, is_tls


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _fingerprint(text: str) -> str:
    # Some programs write a colon after each byte.
    prefix, colon, digits = text.strip().lower().partition(":")
    match = _FINGERPRINT.fullmatch(prefix + colon + digits.replace(":", ""))
    if not match:
        raise UsageError(
            f"{text[:100]!r} is not a fingerprint",
            advice="expected sha256: and 64 hex digits, as the coordinator prints it",
        )
    return match[1]


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _name(fields: dict[str, object]) -> str:
    """A name that stands in a certificate: any of its hosts, else an address, else its common name."""
    kinds: dict[str, str] = {}
    names = fields.get("subjectAltName")
    for kind, name in names if isinstance(names, tuple) else ():
        kinds.setdefault(kind, str(name).replace("*", "any"))
    subject = fields.get("subject")
    for parts in subject if isinstance(subject, tuple) else ():
        for kind, name in parts:
            kinds.setdefault(kind, str(name))
    return kinds.get("DNS") or kinds.get("IP Address") or kinds.get("commonName") or ""


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_BYTES)
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror or error}", advice="check its name and its mode"
        ) from error


def read_token(path: Path) -> str:
    """The token in a file. Refuses one that everybody on the machine can read. No error shows it."""
    text = _read(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o007:
        raise UsageError(f"{path} has mode {mode:o}: all users of this machine can read it", advice=f"chmod 600 {path}")
    token = text.strip()
    if len(token) not in _TOKEN_CHARS or any(not 0x21 <= byte <= 0x7E for byte in token):
        raise UsageError(
            f"{path}: expected a token of 32 to 256 visible ASCII characters, got {len(text)} other bytes",
            advice="copy the file of your role from the coordinator's folder tls",
        )
    return token.decode("ascii")

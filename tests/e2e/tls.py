"""A certificate, and clients that speak TLS."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.e2e.raw_http import Running, connect


def write_certificate(path: Path) -> None:
    """Write a PEM file with a key and a certificate of 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )


def use_tls(certificate: Path, **options: Any) -> dict[str, Any]:
    return {"certfile": certificate, "keyfile": certificate, **options}


async def connect_securely(
    server: Running, certificate: Path, *alpn: str
) -> trio.SSLStream[trio.SocketStream]:
    context = ssl.create_default_context(cafile=str(certificate))
    context.set_alpn_protocols(list(alpn))
    stream = trio.SSLStream(
        await connect(server), context, server_hostname="127.0.0.1", https_compatible=True
    )
    await stream.do_handshake()
    return stream

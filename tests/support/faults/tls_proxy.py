"""TLS in front of a server that has none: its own authority, a certificate for 127.0.0.1, and one for clients."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.faults.tcp_proxy import TcpProxy

A_DAY = timedelta(days=1)


class Authority:
    """Writes `NAME.crt` and `NAME.key` into the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.key = folder, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key()
        self.certificate = folder / f"{name}.crt"
        signed = self.signed(self.name, self.key, x509.BasicConstraints(ca=True, path_length=0))
        self.certificate.write_bytes(signed)

    def issue(self, name: str) -> tuple[Path, Path]:
        """Certificate and key, good for 127.0.0.1."""
        own, subject = key(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        files = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        files[0].write_bytes(self.signed(subject, own, place))
        pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        files[1].write_bytes(own.private_bytes(pem, form, serialization.NoEncryption()))
        return files

    def signed(self, subject: x509.Name, own: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> bytes:
        now = datetime.now(UTC)
        made = x509.CertificateBuilder(self.name, subject, own.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - A_DAY).not_valid_after(now + A_DAY).add_extension(extension, critical=True)
        return made.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


class TlsProxy(TcpProxy):
    """Takes clients of its authority only."""

    def __init__(self, target: int, authority: Authority) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*authority.issue("server"))
        self.context.load_verify_locations(authority.certificate)
        self.context.verify_mode = ssl.CERT_REQUIRED
        super().__init__(target)

    def welcomed(self, client: socket.socket) -> socket.socket:
        return self.context.wrap_socket(client, server_side=True)

"""Certificates for tests: any names, any dates, any issuer."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NOW = datetime.now(UTC)
# From 3.13 on Python wants to see these of an authority, and the identifiers of keys
AUTHORITYS = x509.KeyUsage(
    digital_signature=True,  # a server may be its own
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def certificate(*names, days=(-1, 30), issuer="Test Authority", signer=None):
    """A certificate for these names and addresses, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0] if names else "nobody")]
    )
    authority = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]) if issuer else subject
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + timedelta(days=days[0]))
        .not_valid_after(NOW + timedelta(days=days[1]))
    )
    if names:
        kinds = [
            x509.IPAddress(ip_address(n)) if n[-1].isdigit() or ":" in n else x509.DNSName(n)
            for n in names
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(kinds), critical=False)
    if not issuer:
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        builder = builder.add_extension(AUTHORITYS, critical=True)
    signers = (signer or key).public_key()
    for extension in (
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signers),
    ):
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(signer or key, hashes.SHA256()), key


def encoded(*names):
    """The certificate in DER, as sent over the wire."""
    return certificate(*names)[0].public_bytes(serialization.Encoding.DER)


def written(folder, *names):
    """The paths of an authority's certificate, of one for these names that it has signed, and of
    the latter's key.
    """
    authority, signer = certificate("Test Authority", issuer="")
    signed, key = certificate(*names, signer=signer)
    texts = {
        "authority.pem": authority.public_bytes(serialization.Encoding.PEM),
        "certificate.pem": signed.public_bytes(serialization.Encoding.PEM),
        "key.pem": key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return [str(folder / name) for name in texts]

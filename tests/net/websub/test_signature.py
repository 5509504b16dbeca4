"""Signed pushes."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net.websub.subscriptions import METHODS, is_signed

SECRET, BODY = "s3cret", b"<feed/>"


def signed(method, body=BODY, secret=SECRET):
    return f"{method}={hmac.new(secret.encode(), body, method).hexdigest()}"


@pytest.mark.parametrize("method", sorted(METHODS))
def test_signatures_of_each_method(method):
    """The body and the secret must be ours."""
    assert is_signed(signed(method), BODY, SECRET)
    assert is_signed(signed(method).upper(), BODY, SECRET)
    assert not is_signed(signed(method), BODY + b" ", SECRET)
    assert not is_signed(signed(method), BODY, "other")
    assert not is_signed(signed(method)[:-1], BODY, SECRET)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "=",
        "sha256",
        "sha256=",
        "sha224=" + "0" * 56,
        "md5=" + "0" * 32,
        "sha256=ä\udc80",
        "sha1=é",
    ],
)
def test_what_is_no_signature(header):
    """Weak and unknown methods are none."""
    assert not is_signed(header, BODY, SECRET)


def test_a_method_that_the_specification_does_not_have():
    """However well it is computed."""
    assert not is_signed(signed("md5"), BODY, SECRET)
    assert not is_signed(signed("sha3_256"), BODY, SECRET)


@given(st.text(), st.binary())
def test_any_header(header, body):
    """Never raises, and is never believed."""
    assert not is_signed(header, body, SECRET)
    assert not is_signed(f"sha1={header}", body, SECRET)

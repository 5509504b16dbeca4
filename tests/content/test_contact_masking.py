"""Mail addresses and telephone numbers are masked; what only looks like one stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.contact_masking import masked


@pytest.mark.parametrize(
    "text",
    [
        "ada@example.org",
        "ada.lovelace+crawl@mail.example.co.uk",
        "o'hara_1@x-y.example",
    ],
)
def test_mail_addresses(text):
    """The address is gone, and the words around it stay."""
    assert masked(f"Write to {text}, please.") == "Write to <email>, please."


@pytest.mark.parametrize(
    "text",
    [
        "+49 30 1234567",
        "+1-212-555-0123",
        "+33 (0)1 23 45 67 89",
        "0049 30/1234567",
        "030 1234567",
        "(030) 12 34 56 7",
        "020 7946 0958",
        "(212) 555-0123",
        "212.555.0123",
        "+4930123456",
    ],
)
def test_telephone_numbers(text):
    """International, national and North American forms."""
    assert masked(f"Call {text}.") == "Call <phone>."


@pytest.mark.parametrize(
    "text",
    [
        "on 01.02.2026",
        "2026-11-29 02:16:14",
        "version 10.12.1403",
        "127.0.0.1:8000",
        "1 234 567 people",
        "ISBN 0-306-40615-2",
        "order 0012345678901234567890",
        "3.14159265358979",
        "EUR 1,234,567.89",
        "19,500 to 20,416",
        "user@localhost",
        "@mentions and a@",
        "https://a.test/0123-456-789",
        "0x0123456789",
    ],
)
def test_what_stays(text):
    """Dates, versions, addresses of machines, quantities, books and identifiers."""
    assert masked(text) == text


@given(st.text(alphabet="0123456789 +()-./@ab.", max_size=300))
def test_any_text(text):
    """A masked text has nothing left to mask."""
    assert masked(masked(text)) == masked(text)


def test_an_endless_word():
    """A megabyte without a blank is read once, and stays."""
    for text in ("a" * (1 << 20), "1" * (1 << 20), "a." * (1 << 19), "1 " * (1 << 19)):
        assert masked(text) == text

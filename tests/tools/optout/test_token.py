"""Tokens: what is signed, and which of several counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.tools.optout.token import LIFE, Tokens, Wish, counts

NOW = 1_800_000_000
TOKENS = Tokens(bytes(32))
RULE = "example.org"


def found(*lines, rule=RULE, tokens=TOKENS):
    return tokens.found(rule, lines, "file x")


@pytest.mark.parametrize("wish", Wish)
def test_a_token_says_what_it_is_for(wish):
    """Wish and time of issue can be read in a token, which is recognised with blanks around it, among other lines."""
    token = TOKENS.issue(RULE, wish, NOW + 0.9)

    assert token.startswith(f"webcrawl-{wish}-{NOW}-")
    (proof,) = found("# mine", f" {token}\r", "")
    assert (proof.wish, proof.issued, proof.place) == (wish, NOW, "file x")


def test_others_tokens():
    """A token of another crawl, for another name, or for another wish or time is none."""
    token = TOKENS.issue(RULE, Wish.LEAVE, NOW)

    assert found(token, tokens=Tokens(b"x" * 32)) == []
    assert found(token, rule="www.example.org") == []
    assert found(token, rule="example.org/") == []
    assert found(token.replace("leave", "return")) == []
    assert found(token.replace(str(NOW), str(NOW + 1))) == []
    assert found(token[:-1], token + "0", token.upper(), f"x{token}", f"{token} {token}") == []


@given(st.text(max_size=80))
def test_forged_tokens(text):
    """No text is taken for a token that was not issued."""
    assert found(text, f"webcrawl-leave-{NOW}-{text}", f"webcrawl-leave-{text}-{'0' * 32}") == []


def test_the_last_one_counts():
    """Of several tokens the one issued last says what is wanted, wherever it is found."""
    first, last = TOKENS.issue(RULE, Wish.LEAVE, NOW), TOKENS.issue(RULE, Wish.RETURN, NOW + 1)

    assert counts(found(first, last), NOW + 2).wish is counts(found(last, first), NOW + 2).wish is Wish.RETURN
    assert counts([], NOW) is None


def test_tokens_expire():
    """A token counts for seven days; an older one does not count for want of a later one."""
    proofs = found(TOKENS.issue(RULE, Wish.LEAVE, NOW))

    assert counts(proofs, NOW + LIFE - 1) is not None
    assert counts(proofs, NOW + LIFE) is None


def test_nothing_of_the_key_is_shown():
    """What the object prints has no key in it."""
    assert repr(TOKENS) == "<Tokens>"

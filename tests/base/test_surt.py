"""Keys of URLs in the index of an archive.

The Internet Archive's package surt 0.3.1 made these vectors.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.surt import surt

SESSION = "a1" * 16


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://a.test", "test,a)/"),
        ("http://www.Example.com/A/B", "com,example)/a/b"),
        ("http://www3.example.com/", "com,example)/"),
        ("http://wwwx.example.com/", "com,example,wwwx)/"),
        ("http://www.com/", "com)/"),
        ("http://_x.a.test/", "test,a,_x)/"),
        ("http://xn--bcher-kva.test/", "test,xn--bcher-kva)/"),
        ("http://1.2.3.4/x", "4,3,2,1)/x"),
        ("http://[::1]:8080/A/", "::1:8080)/a"),
        ("http://[2001:db8::1]/", "2001:db8::1)/"),
        ("http://a.test.:81/", "test,a:81)/"),
        ("http://a.test:80/", "test,a)/"),
        ("https://a.test:443/", "test,a)/"),
        ("http://a.test:443/", "test,a:443)/"),
        ("http://user:pw@a.test:8080/", "test,a:8080)/"),
        ("ftp://ftp.a.test/x/", "test,a,ftp)/x"),
        ("gopher://a.test/1/x", "test,a)/1/x"),
    ],
)
def test_labels_of_a_host_come_in_reverse(url, key):
    """The labels come in reverse, without `www`, scheme, credentials and the scheme's port."""
    assert surt(url) == key


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/%7Euser/%41%2541/..%2fx//y/", "/~user/x/y"),
        ("/a/../../b/.", "/../b"),
        ("/b/..;/", "/b/..;"),
        ("/%E4%BC%9A", "/%e4%bc%9a"),
        ("/%", "/%25"),
        ("/%25zz%zz", "/%25zz%25zz"),
        ("/a%2Fb%3Fc%00", "/a/b?c%00"),
        ("/\\x", "/\\x"),
        (f"/x;jsessionid={SESSION}", f"/x;jsessionid={SESSION}"),
        (f"/(S({SESSION[:24]}))/x.aspx", "/x.aspx"),
        (f"/a/({SESSION[:24]})/x.aspx", "/a/x.aspx"),
        ("/a#b", "/a"),
    ],
)
def test_paths(path, key):
    """A path is unescaped, walked, escaped as little as possible and put in lower case; its last
    slash goes.
    """
    assert surt(f"http://a.test{path}") == f"test,a){key}"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("", ""),
        ("b=1&a=2&a", "?a&a=2&b=1"),
        ("&&a&", "?&&&a"),
        ("B=C%20d&A=%23", "?a=%23&b=c%20d"),
        ("q=%E4%BC%9A+x%26z", "?q=%e4%bc%9a+x&z"),
        ("a?b/../c", "?a?b/../c"),
        (f"sid={SESSION}&x=1", "?x=1"),
        (f"x=1&PHPSESSID={SESSION}", "?&x=1"),
        (f"jsessionid={SESSION}", ""),
        ("cfid=1&cftoken=2&x", "?x"),
        ("ASPSESSIONIDabcdefgh=" + "q" * 24, ""),
        ("id=5", "?id=5"),
    ],
)
def test_queries(query, key):
    """Arguments are sorted, in lower case; session numbers go."""
    assert surt(f"http://a.test/?{query}") == f"test,a)/{key}"


def test_what_is_no_url_of_a_host_is_its_own_key():
    """Such a thing is never fetched; its line stays readable."""
    assert surt("metadata:x") == "metadata:x"


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=60))
def test_any_url_has_a_key(rest):
    """Whatever printable ASCII a URL has, its key is such text too."""
    key = surt(f"http://a.test/{rest}")
    assert key.startswith("test,a)/")
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key

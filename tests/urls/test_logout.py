"""Links that log out are not followed on hosts with a login."""

import pytest

from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.filters.logout import LogoutFilter

OUT = [
    "logout",
    "Logout",
    "wiki/Special:UserLogout?returnto=Main",
    "wp-login.php?action=logout&_wpnonce=1",
    "users/sign_out",
    "Account/LogOff",
    "_layouts/SignOut.aspx",
    "j_spring_security_logout",
    "secure/Logout!default.jspa",
    "app?cmd=memberLogout",
    "log-out/",
    "api/auth/signout",
    "doLogout.do;jsessionid=1",
    "logoutAction",
    "realms/a/protocol/openid-connect/end_session",
    "sessions/destroy",
    "abmelden",
    "d%C3%A9connexion",
    "cerrar-sesion",
    "a?x=1&logout",
    "log%20out",
    "lo%67out",
    "%4C%6Fgout",
    "user/sign%5Fout",
    "index.php?r=site%2Flogout",
]
PAGES = [
    "",
    "login",
    "catalog/output",
    "blog/out",
    "blogoutreach",
    "signoutside",
    "logs/output.txt",
    "workout",
    "a?next=about",
    "sessions/2026",
    "a%20page",
    "blog%6Futreach",
]


@pytest.fixture(name="one")
def _one():
    return LogoutFilter(["https://site.test/", "http://site.test:8080/"])


@pytest.mark.parametrize("path", OUT)
def test_words_that_log_out(one, path):
    """Words in common use for it drop a link, found now or queued before."""
    url = f"https://site.test/{path}"

    assert one.keep([url], Origin()) == []
    assert one.reject(url)


@pytest.mark.parametrize("path", PAGES)
def test_other_words(one, path):
    """Links with other words are followed."""
    url = f"https://site.test/{path}"

    assert one.keep([url], Origin()) == [url]
    assert not one.reject(url)


@pytest.mark.parametrize("start", ["http://site.test", "https://other.test", "https://site.test.x"])
def test_hosts_without_a_login(one, start):
    """Elsewhere there is no session to end."""
    url = f"{start}/logout"

    assert one.keep([url], Origin()) == [url]
    assert not one.reject(url)

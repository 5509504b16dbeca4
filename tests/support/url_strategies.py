"""Strings that look enough like links to exercise a URL parser."""

from hypothesis import strategies as st

BASES = (
    "http://h.example/a/b?c",
    "https://h.example:8080/",
    "ftp://x.y/z",
    "gopher://h.example/1x",
    "",
)
STARTS = (
    "",
    "http://a.b/",
    "HTTPS://A.b",
    "//a.b",
    "//a.b/",
    "http://",
    "/",
    "?",
    "gopher://",
    "ftp://a",
    "https://a.b.c",
)
ODD = (
    "aA/.%2eExn-:?#&=\\@[]|^`{}'\"<> \t\n\r\x000129_~*hHtps;,\u00e9\u3002\u2028\ud800\x7f\U0001f600"
)

TOKENS = (
    *(
        "/",
        "//",
        ".",
        "..",
        "%2e",
        "%2E",
        "%2f",
        "%",
        "\\",
        ":",
        ":80",
        ":443",
        ":8080",
        "@",
        "#",
        "?",
        "&",
        "=",
        "=%20",
    ),
    *(
        "a",
        "A",
        "0",
        "1.2",
        "0x7f",
        "xn--",
        "xn--a",
        "-",
        "_",
        "~",
        " ",
        "\t",
        "\n",
        "\x00",
        "\u00e9",
        "\ud800",
        ".example",
    ),
    *(
        "http:",
        "https:",
        "javascript:",
        "a" * 62,
        "a." * 60,
        "[::1]",
        "(",
        "'",
        '"',
        "<",
        "{",
        "|",
        "^",
        ";x",
    ),
)

odd_text = st.text(st.sampled_from(ODD), max_size=30) | st.text(max_size=30)
token_text = st.lists(st.sampled_from(TOKENS), max_size=8).map("".join)
links = st.builds(str.__add__, st.sampled_from(STARTS), odd_text | token_text)
bases = st.sampled_from(BASES)

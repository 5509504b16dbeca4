"""PDFs as small as they can be, and some that nobody should have to read."""

import zlib
from functools import cache


def pdf(*urls, text="", pages=1):
    """A PDF whose pages have links to these URLs, and this text."""
    content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    return with_content(content, urls=urls, pages=pages)


@cache
def bomb(size=1 << 26):
    """A page whose content is so many bytes large, and packed to a hundredth."""
    packer = zlib.compressobj(3)
    piece = b"BT /F1 9 Tf (http://a.test/x) Tj ET " * 29127
    packed = b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()
    return with_content(packed, "/Filter /FlateDecode")


def with_content(content, how="", urls=(), pages=1):
    """Its pages all have this content."""
    kids = " ".join(f"{10 + at} 0 R" for at in range(pages))
    annots = "".join(
        f"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({url})>>>>" for url in urls
    )
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: f"<</Type/Pages/Kids[{kids}]/Count {pages}>>".encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        4: f"<</Length {len(content)} {how}>>stream\n".encode() + content + b"\nendstream",
    }
    page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 3 0 R>>>>"
    page += f"/Annots[{annots}]>>"
    objects |= {10 + at: page.encode() for at in range(pages)}
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % one for one in objects.items())
    return body + b"trailer<</Root 1 0 R>>\n%%EOF\n"

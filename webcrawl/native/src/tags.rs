//! The elements that tree construction tells apart, as numbers, and the groups that the HTML Standard puts them in.

pub type Tag = u16;

macro_rules! tags {
    ($($constant:ident $name:literal,)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u16)]
        enum Number { #[allow(dead_code)] NONE, $($constant,)* LAST }
        $(pub const $constant: Tag = Number::$constant as Tag;)*
        /// The first number of names that are not in this table.
        pub const OTHERS: Tag = Number::LAST as Tag;

        /// Return the number of a name in lower case, if it is one of these.
        pub fn known(name: &[u8]) -> Option<Tag> {
            match name { $($name => Some($constant),)* _ => None }
        }
    };
}

tags! {
    A b"a", ADDRESS b"address", APPLET b"applet", AREA b"area", ARTICLE b"article", ASIDE b"aside", B b"b",
    BASE b"base", BASEFONT b"basefont", BGSOUND b"bgsound", BIG b"big", BLOCKQUOTE b"blockquote", BODY b"body",
    BR b"br", BUTTON b"button", CAPTION b"caption", CENTER b"center", CODE b"code", COL b"col",
    COLGROUP b"colgroup", DD b"dd", DETAILS b"details", DIALOG b"dialog", DIR b"dir", DIV b"div", DL b"dl",
    DT b"dt", EM b"em", EMBED b"embed", FIELDSET b"fieldset", FIGCAPTION b"figcaption", FIGURE b"figure",
    FONT b"font", FOOTER b"footer", FORM b"form", FRAME b"frame", FRAMESET b"frameset", H1 b"h1", H2 b"h2",
    H3 b"h3", H4 b"h4", H5 b"h5", H6 b"h6", HEAD b"head", HEADER b"header", HGROUP b"hgroup", HR b"hr",
    HTML b"html", I b"i", IFRAME b"iframe", IMAGE b"image", IMG b"img", INPUT b"input", KEYGEN b"keygen",
    LI b"li", LINK b"link", LISTING b"listing", MAIN b"main", MARQUEE b"marquee", MATH b"math", MENU b"menu",
    META b"meta", NAV b"nav", NOBR b"nobr", NOEMBED b"noembed", NOFRAMES b"noframes", NOSCRIPT b"noscript",
    OBJECT b"object", OL b"ol", OPTGROUP b"optgroup", OPTION b"option", P b"p", PARAM b"param",
    PLAINTEXT b"plaintext", PRE b"pre", RB b"rb", RP b"rp", RT b"rt", RTC b"rtc", RUBY b"ruby", S b"s",
    SCRIPT b"script", SEARCH b"search", SECTION b"section", SELECT b"select", SELECTEDCONTENT b"selectedcontent",
    SMALL b"small", SOURCE b"source",
    STRIKE b"strike", STRONG b"strong", STYLE b"style", SUMMARY b"summary", SVG b"svg", TABLE b"table",
    TBODY b"tbody", TD b"td", TEMPLATE b"template", TEXTAREA b"textarea", TFOOT b"tfoot", TH b"th",
    THEAD b"thead", TITLE b"title", TR b"tr", TRACK b"track", TT b"tt", U b"u", UL b"ul", WBR b"wbr", XMP b"xmp",
}

const COUNT: usize = OTHERS as usize;

const fn table(tags: &[Tag]) -> [bool; COUNT] {
    let mut found = [false; COUNT];
    let mut at = 0;
    while at < tags.len() {
        found[tags[at] as usize] = true;
        at += 1;
    }
    found
}

/// Return whether the standard calls these elements special (13.2.4.2).
pub fn is_special(tag: Tag) -> bool {
    const SET: [bool; COUNT] = table(&[
        ADDRESS, APPLET, AREA, ARTICLE, ASIDE, BASE, BASEFONT, BGSOUND, BLOCKQUOTE, BODY, BR, BUTTON, CAPTION, CENTER,
        COL, COLGROUP, DD, DETAILS, DIR, DIV, DL, DT, EMBED, FIELDSET, FIGCAPTION, FIGURE, FOOTER, FORM, FRAME,
        FRAMESET, H1, H2, H3, H4, H5, H6, HEAD, HEADER, HGROUP, HR, HTML, IFRAME, IMG, INPUT, KEYGEN, LI, LINK,
        LISTING, MAIN, MARQUEE, MENU, META, NAV, NOEMBED, NOFRAMES, NOSCRIPT, OBJECT, OL, P, PARAM, PLAINTEXT, PRE,
        SCRIPT, SEARCH, SECTION, SELECT, SOURCE, STYLE, SUMMARY, TABLE, TBODY, TD, TEMPLATE, TEXTAREA, TFOOT, TH,
        THEAD, TITLE, TR, TRACK, UL, WBR, XMP,
    ]);
    (tag as usize) < COUNT && SET[tag as usize]
}

/// Return whether the end tag of such an element runs the adoption agency (13.2.6.4.7).
pub fn is_formatting(tag: Tag) -> bool {
    matches!(tag, A | B | BIG | CODE | EM | FONT | I | NOBR | S | SMALL | STRIKE | STRONG | TT | U)
}

/// Return whether the start tag only closes an open `p`, and the end tag closes such an element.
pub fn is_block(tag: Tag) -> bool {
    const SET: [bool; COUNT] = table(&[
        ADDRESS, ARTICLE, ASIDE, BLOCKQUOTE, CENTER, DETAILS, DIALOG, DIR, DIV, DL, FIELDSET, FIGCAPTION, FIGURE,
        FOOTER, HEADER, HGROUP, LISTING, MAIN, MENU, NAV, OL, PRE, SEARCH, SECTION, SUMMARY, UL,
    ]);
    (tag as usize) < COUNT && SET[tag as usize]
}

/// Return whether the element ends by itself where another begins or ends (13.2.6.3).
pub fn is_implied(tag: Tag) -> bool {
    matches!(tag, DD | DT | LI | OPTGROUP | OPTION | P | RB | RP | RT | RTC)
}

pub fn is_heading(tag: Tag) -> bool {
    matches!(tag, H1..=H6)
}

/// Return whether no search for an open element goes beyond one of these (13.2.4.2, "has an element in scope").
pub fn ends_scope(tag: Tag) -> bool {
    matches!(tag, APPLET | CAPTION | HTML | TABLE | TD | TH | MARQUEE | OBJECT | SELECT | TEMPLATE)
}

//! Tags, comments and texts of HTML (HTML Standard 13.2.5), as ranges of the source; nothing is copied.

use crate::references::decode;
use memchr::{memchr, memchr2, memchr3, memmem};

pub type Range = (usize, usize);

pub enum Token {
    /// A text that is more than white space, or is not.
    Text {
        blank: bool,
    },
    Start,
    End,
    Doctype(Range),
    Ignored, // a comment, or what the standard makes one of
    Ended,
}

pub struct Attribute {
    pub name: Range,
    pub value: Range,
}

/// Reads one token after the other. Of a tag, `name` and `attributes` hold what was read last.
pub struct Tokens<'a> {
    pub source: &'a [u8],
    pub at: usize,
    pub name: Range,
    pub attributes: Vec<Attribute>,
    pub closes_itself: bool,
}

pub fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

fn ends_name(byte: u8) -> bool {
    is_space(byte) || byte == b'/' || byte == b'>'
}

impl<'a> Tokens<'a> {
    pub fn new(source: &'a [u8]) -> Self {
        Tokens { source, at: 0, name: (0, 0), attributes: Vec::new(), closes_itself: false }
    }

    pub fn next(&mut self) -> Token {
        let source = self.source;
        let at = self.at;
        let Some(&first) = source.get(at) else { return Token::Ended };
        if first != b'<' {
            return self.text(at);
        }
        match source.get(at + 1) {
            Some(byte) if byte.is_ascii_alphabetic() => self.tag(at + 1, Token::Start),
            Some(b'/') => self.end_tag(at + 2),
            Some(b'!') => self.declaration(at + 2),
            Some(b'?') => self.bogus(at + 1),
            _ => self.text(at),
        }
    }

    fn text(&mut self, at: usize) -> Token {
        let rest = &self.source[at + 1..];
        let end = memchr(b'<', rest).map_or(self.source.len(), |found| at + 1 + found);
        let blank = is_blank(&self.source[at..end]);
        self.at = end;
        Token::Text { blank }
    }

    fn end_tag(&mut self, at: usize) -> Token {
        match self.source.get(at) {
            Some(byte) if byte.is_ascii_alphabetic() => self.tag(at, Token::End),
            Some(b'>') => {
                self.at = at + 1;
                Token::Ignored
            }
            Some(_) => self.bogus(at),
            None => {
                self.at = at;
                Token::Text { blank: false } // `</` at the end is a text
            }
        }
    }

    fn bogus(&mut self, at: usize) -> Token {
        self.at = self.after(at, b'>');
        Token::Ignored
    }

    fn after(&self, at: usize, byte: u8) -> usize {
        memchr(byte, &self.source[at..]).map_or(self.source.len(), |found| at + found + 1)
    }

    fn declaration(&mut self, at: usize) -> Token {
        let rest = &self.source[at..];
        if rest.starts_with(b"--") {
            self.at = self.comment(at + 2);
            return Token::Ignored;
        }
        let is_doctype = rest.len() >= 7 && rest[..7].eq_ignore_ascii_case(b"doctype");
        self.at = self.after(at, b'>');
        if is_doctype {
            return Token::Doctype((at + 7, self.at));
        }
        Token::Ignored
    }

    /// Return where a comment ends whose text begins here (13.2.5.43 to .52).
    fn comment(&self, start: usize) -> usize {
        let source = self.source;
        if source[start..].starts_with(b">") {
            return start + 1;
        }
        if source[start..].starts_with(b"->") {
            return start + 2;
        }
        let mut from = start;
        while let Some(found) = memchr(b'>', &source[from..]) {
            let end = from + found;
            let text = &source[start..end];
            if text.ends_with(b"--") || text.ends_with(b"--!") {
                return end + 1;
            }
            from = end + 1;
        }
        source.len()
    }

    /// Reads a tag whose name begins here. One that does not end is none, and the document ends.
    fn tag(&mut self, start: usize, kind: Token) -> Token {
        let source = self.source;
        let mut at = start;
        while at < source.len() && !ends_name(source[at]) {
            at += 1;
        }
        self.name = (start, at);
        self.attributes.clear();
        self.closes_itself = false;
        loop {
            while at < source.len() && (is_space(source[at]) || source[at] == b'/') {
                self.closes_itself = source[at] == b'/';
                at += 1;
            }
            let Some(&byte) = source.get(at) else {
                self.at = source.len();
                return Token::Ended;
            };
            if byte == b'>' {
                self.at = at + 1;
                return kind;
            }
            self.closes_itself = false;
            at = self.attribute(at);
        }
    }

    /// Reads an attribute, and returns what follows it.
    fn attribute(&mut self, start: usize) -> usize {
        let source = self.source;
        let mut at = start + 1; // the first character may be a `=`
        while at < source.len() && !ends_name(source[at]) && source[at] != b'=' {
            at += 1;
        }
        let name = (start, at);
        let after_name = at;
        while at < source.len() && is_space(source[at]) {
            at += 1;
        }
        if source.get(at) != Some(&b'=') {
            self.attributes.push(Attribute { name, value: (after_name, after_name) });
            return after_name;
        }
        at += 1;
        while at < source.len() && is_space(source[at]) {
            at += 1;
        }
        let (value, end) = self.value(at);
        self.attributes.push(Attribute { name, value });
        end
    }

    fn value(&self, start: usize) -> (Range, usize) {
        let source = self.source;
        match source.get(start) {
            Some(&quote @ (b'"' | b'\'')) => {
                let end = memchr(quote, &source[start + 1..]).map_or(source.len(), |found| start + 1 + found);
                ((start + 1, end), (end + 1).min(source.len()))
            }
            Some(b'>') | None => ((start, start), start),
            Some(_) => {
                let mut at = start;
                while at < source.len() && !is_space(source[at]) && source[at] != b'>' {
                    at += 1;
                }
                ((start, at), at)
            }
        }
    }

    /// Reads the text of an element that has no markup, up to its end tag, which is the next token.
    pub fn raw_text(&mut self, name: &[u8]) -> Range {
        let start = self.at;
        let mut from = start;
        while let Some(found) = memmem::find(&self.source[from..], b"</") {
            let at = from + found;
            if self.is_end_tag(at, name) {
                self.at = at;
                return (start, at);
            }
            from = at + 2;
        }
        self.at = self.source.len();
        (start, self.at)
    }

    fn is_end_tag(&self, at: usize, name: &[u8]) -> bool {
        let rest = &self.source[at + 2..];
        rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) && ends_name(rest[name.len()])
    }

    /// Return the value of an attribute of the last tag, the first of this name, which is in lower case.
    pub fn value_of(&self, name: &[u8]) -> Option<Range> {
        let is_it = |one: &&Attribute| self.source[one.name.0..one.name.1].eq_ignore_ascii_case(name);
        self.attributes.iter().find(is_it).map(|one| one.value)
    }
}

/// Return whether a text is white space, which may be written as references.
fn is_blank(text: &[u8]) -> bool {
    let Some(first) = text.iter().position(|&byte| !is_space(byte)) else { return true };
    if text[first] != b'&' || !matches!(text.get(first + 1), Some(b'#' | b'T' | b'N')) {
        return false;
    }
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut decoded = String::new();
    decode(text, &mut decoded, false);
    decoded.bytes().all(is_space)
}

/// Return whether a script's text may hide its end tag: `<!--` and then `<script` (13.2.5.20 and later).
pub fn may_be_escaped(script: &[u8]) -> bool {
    let Some(found) = memmem::find(script, b"<!--") else { return false };
    has_ignoring_case(&script[found..], b"<script")
}

pub fn has_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    let (lower, upper) = (word[1].to_ascii_lowercase(), word[1].to_ascii_uppercase());
    let mut from = 0;
    while let Some(found) = memchr2(lower, upper, &text[from..]) {
        let at = from + found;
        if at > 0 && text[at - 1..].len() >= word.len() && text[at - 1..at - 1 + word.len()].eq_ignore_ascii_case(word)
        {
            return true;
        }
        from = at + 1;
    }
    false
}

/// Return whether a value stands for itself: no reference, and no end of a line that would be another.
pub fn is_literal(value: &[u8]) -> bool {
    memchr3(b'&', b'\r', 0, value).is_none()
}

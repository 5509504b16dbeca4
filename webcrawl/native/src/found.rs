//! What is read of a document: its links, in the order of the tree, and what its head says of it.

use crate::references::decode;
use crate::tokens::{has_ignoring_case, is_literal, is_space, Range, Tokens};
use crate::tree::Doubt;

type Sure<T = ()> = Result<T, Doubt>;
type Span = (u32, u32);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Anchor,
    Area,
    Iframe,
    Canonical,
}

#[derive(Clone, Copy)]
pub struct Link {
    pub kind: Kind,
    pub address: Span,
    pub rel: Span,
}

/// The values of some attributes of a meta element or a licence's link.
pub type Said = Vec<(&'static str, String)>;

#[derive(Default)]
pub struct Found {
    values: String,
    pub elements: Vec<Link>,
    pub base: Option<String>,
    pub title: Option<String>,
    pub canonical: String,
    pub language: Option<Said>,
    pub said: Vec<Said>,
}

impl Found {
    pub fn value(&self, span: Span) -> &str {
        &self.values[span.0 as usize..span.1 as usize]
    }

    /// Puts a copy of a link before the one with the number `at`.
    pub fn repeat(&mut self, link: u32, at: usize) {
        let copy = self.elements[link as usize];
        self.elements.insert(at, copy);
    }

    fn kept(&mut self, tokens: &Tokens, range: Range) -> Sure<Span> {
        let start = self.values.len() as u32;
        let text = text_of(tokens, range)?;
        if is_literal(text.as_bytes()) {
            self.values.push_str(text);
        } else {
            decode(text, &mut self.values, true);
        }
        Ok((start, self.values.len() as u32))
    }

    fn rel(&mut self, tokens: &Tokens) -> Sure<Span> {
        match tokens.value_of(b"rel") {
            Some(range) => self.kept(tokens, range),
            None => Ok((0, 0)),
        }
    }

    fn add(&mut self, kind: Kind, tokens: &Tokens, range: Range) -> Sure {
        let address = self.kept(tokens, range)?;
        let rel = self.rel(tokens)?;
        self.elements.push(Link { kind, address, rel });
        Ok(())
    }

    /// Return one more than the number of the anchor's link, 0 if it has none.
    pub fn anchor(&mut self, tokens: &Tokens) -> Sure<u32> {
        let found = tokens.value_of(b"href").or_else(|| tokens.value_of(b"xlink:href"));
        let Some(range) = found else { return Ok(0) };
        self.add(Kind::Anchor, tokens, range)?;
        Ok(self.elements.len() as u32)
    }

    pub fn address(&mut self, kind: Kind, name: &[u8], tokens: &Tokens) -> Sure {
        match tokens.value_of(name) {
            Some(range) => self.add(kind, tokens, range),
            None => Ok(()),
        }
    }

    pub fn html(&mut self, tokens: &Tokens) -> Sure {
        self.language = Some(said(tokens, &["lang", "xml:lang"])?);
        Ok(())
    }

    pub fn base(&mut self, tokens: &Tokens) -> Sure {
        if self.base.is_some() {
            return Ok(());
        }
        if let Some(range) = tokens.value_of(b"href") {
            self.base = Some(decoded(tokens, range, true)?);
        }
        Ok(())
    }

    pub fn title(&mut self, tokens: &Tokens, range: Range) -> Sure {
        if self.title.is_none() {
            self.title = Some(decoded(tokens, range, false)?);
        }
        Ok(())
    }

    /// A drawing's title counts as the document's if it is the first.
    pub fn foreign_title(&self) -> Sure {
        self.title.as_ref().map(|_| ()).ok_or("title in svg")
    }

    pub fn link(&mut self, tokens: &Tokens) -> Sure {
        let (Some(address), Some(range)) = (tokens.value_of(b"href"), tokens.value_of(b"rel")) else { return Ok(()) };
        let rel = decoded(tokens, range, true)?;
        if !rel.is_ascii() {
            return Err("rel"); // Python makes lower case of more letters, and knows more spaces
        }
        let is_canonical = words(&rel).any(|word| word.eq_ignore_ascii_case("canonical"));
        let is_license = words(&rel).any(|word| word.eq_ignore_ascii_case("license"));
        if is_license && is_canonical {
            return Err("rel");
        }
        if is_license {
            self.said.push(said(tokens, &["rel", "type", "href"])?);
        }
        if !is_canonical {
            return Ok(());
        }
        self.add(Kind::Canonical, tokens, address)?;
        if self.canonical.is_empty() {
            self.canonical = decoded(tokens, address, true)?;
        }
        Ok(())
    }

    pub fn meta(&mut self, tokens: &Tokens, names: &[String]) -> Sure {
        let Some(content) = tokens.value_of(b"content") else { return Ok(()) };
        if content.0 == content.1 || !is_wanted(tokens, names)? {
            return Ok(());
        }
        self.said.push(said(tokens, &["name", "content", "http-equiv"])?);
        Ok(())
    }
}

/// Return whether a meta element may have one of these names, or a refresh.
fn is_wanted(tokens: &Tokens, names: &[String]) -> Sure<bool> {
    if let Some(range) = tokens.value_of(b"http-equiv") {
        let value = &tokens.source[range.0..range.1];
        if !is_literal(value) || !value.is_ascii() || has_ignoring_case(value, b"refresh") {
            return Ok(true);
        }
    }
    let Some(range) = tokens.value_of(b"name") else { return Ok(false) };
    let value = text_of(tokens, range)?;
    let name = value.trim_matches(|letter: char| letter.is_ascii() && is_space(letter as u8));
    let is_plain = value.is_ascii() && is_literal(value.as_bytes());
    Ok(!is_plain || names.iter().any(|one| one.eq_ignore_ascii_case(name)))
}

/// What Python's `split` finds in ASCII.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| matches!(letter, '\t'..='\r' | '\x1c'..='\x1f' | ' ')).filter(|word| !word.is_empty())
}

fn said(tokens: &Tokens, names: &[&'static str]) -> Sure<Said> {
    let mut found = Said::new();
    for name in names {
        if let Some(range) = tokens.value_of(name.as_bytes()) {
            found.push((name, decoded(tokens, range, true)?));
        }
    }
    Ok(found)
}

fn text_of<'a>(tokens: &Tokens<'a>, range: Range) -> Sure<&'a str> {
    std::str::from_utf8(&tokens.source[range.0..range.1]).map_err(|_| "no UTF-8")
}

fn decoded(tokens: &Tokens, range: Range, is_value: bool) -> Sure<String> {
    let mut text = String::new();
    decode(text_of(tokens, range)?, &mut text, is_value);
    Ok(text)
}

//! Tree construction (HTML Standard 13.2.6) without a tree: only the stack of open elements, and the elements that links
//! are read from, in the order of the tree. Whatever would move an element that was read already is a doubt.

use std::cell::Cell;
use std::collections::HashMap;

use crate::found::{Found, Kind};
use crate::tags::{self, *};
use crate::tokens::{may_be_escaped, Range, Token, Tokens};

/// Why a page is left to Python.
pub type Doubt = &'static str;
type Sure<T = ()> = Result<T, Doubt>;

const DEEPEST: usize = 256; // open elements; each end tag may look at all of them
const MOST_FORMATTING: usize = 48;
const STEPS: usize = 2; // looks at open elements, per byte of the document: at most so many, and some more
const MOST_REOPENED: usize = 512; // anchors in one page that are opened again

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    AfterBody,
    AfterAfterBody,
}

#[derive(Clone, Copy)]
struct Open {
    tag: Tag,
    serial: u32,
    after: u32, // how many elements had been read when it had just begun
}

#[derive(Clone, Copy)]
struct Formatting {
    tag: Tag, // NONE: a marker
    serial: u32,
    link: u32,      // of an anchor with an address: one more than its number
    is_plain: bool, // it has no attributes
}

const MARKER: Tag = 0;

pub struct Builder<'a, 'b> {
    tokens: Tokens<'a>,
    found: &'b mut Found,
    names: &'b [String],
    mode: Mode,
    stack: Vec<Open>,
    formatting: Vec<Formatting>,
    others: HashMap<Vec<u8>, Tag>,
    serial: u32,
    form: Option<u32>,
    is_quirky: Option<bool>, // None: it is not known
    reopened: usize,
    steps: Cell<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Default,
    List,
    Button,
    Table,
}

impl<'a, 'b> Builder<'a, 'b> {
    /// `names`: of the meta elements that are kept, in lower case.
    pub fn new(source: &'a [u8], found: &'b mut Found, names: &'b [String]) -> Self {
        Builder {
            tokens: Tokens::new(source),
            found,
            names,
            mode: Mode::Initial,
            stack: Vec::with_capacity(64),
            formatting: Vec::with_capacity(16),
            others: HashMap::new(),
            serial: 0,
            form: None,
            is_quirky: Some(true),
            reopened: 0,
            steps: Cell::new(0),
        }
    }

    /// Reads the whole document.
    pub fn read(&mut self) -> Sure {
        let most = STEPS * self.tokens.source.len() + 10_000;
        loop {
            if self.steps.get() > most {
                return Err("many steps");
            }
            match self.tokens.next() {
                Token::Text { blank } => self.text(blank)?,
                Token::Start => {
                    let tag = self.tag();
                    self.start(tag)?;
                }
                Token::End => {
                    let tag = self.tag();
                    self.end(tag)?;
                }
                Token::Doctype(range) => self.doctype(range),
                Token::Ignored => (),
                Token::Ended => return Ok(()),
            }
        }
    }

    /// Return the number of the last tag's name.
    fn tag(&mut self) -> Tag {
        let name = &self.tokens.source[self.tokens.name.0..self.tokens.name.1];
        let mut lower = [0u8; 16];
        if name.len() <= lower.len() {
            let lower = &mut lower[..name.len()];
            lower.copy_from_slice(name);
            lower.make_ascii_lowercase();
            if let Some(tag) = tags::known(lower) {
                return tag;
            }
        }
        let next = OTHERS.saturating_add(self.others.len().min(usize::from(u16::MAX)) as Tag);
        let lower = name.to_ascii_lowercase();
        *self.others.entry(lower).or_insert(next)
    }

    fn doctype(&mut self, range: Range) {
        if self.mode == Mode::Initial {
            self.mode = Mode::BeforeHtml;
            self.is_quirky = quirky(&self.tokens.source[range.0..range.1]);
        }
    }

    // The stack of open elements.

    fn current(&self) -> Tag {
        self.stack.last().map_or(MARKER, |open| open.tag)
    }

    fn push(&mut self, tag: Tag) -> Sure<u32> {
        if self.stack.len() >= DEEPEST {
            return Err("deep");
        }
        self.serial += 1;
        self.stack.push(Open { tag, serial: self.serial, after: self.found.elements.len() as u32 });
        Ok(self.serial)
    }

    fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }

    fn in_scope(&self, tag: Tag, scope: Scope) -> bool {
        self.any_in_scope(|one| one == tag, scope)
    }

    fn any_in_scope(&self, is_it: impl Fn(Tag) -> bool, scope: Scope) -> bool {
        for open in self.stack.iter().rev() {
            self.step();
            if is_it(open.tag) {
                return true;
            }
            let ends = match scope {
                Scope::Table => matches!(open.tag, HTML | TABLE | TEMPLATE),
                Scope::Default => ends_scope(open.tag),
                Scope::List => ends_scope(open.tag) || matches!(open.tag, OL | UL),
                Scope::Button => ends_scope(open.tag) || open.tag == BUTTON,
            };
            if ends {
                return false;
            }
        }
        false
    }

    fn pop_until(&mut self, is_it: impl Fn(Tag) -> bool) {
        while let Some(open) = self.stack.pop() {
            if is_it(open.tag) {
                return;
            }
        }
    }

    fn close_implied(&mut self, except: Tag) {
        while is_implied(self.current()) && self.current() != except {
            self.stack.pop();
        }
    }

    fn close_p(&mut self) {
        if self.in_scope(P, Scope::Button) {
            self.close_implied(P);
            self.pop_until(|tag| tag == P);
        }
    }

    // The list of active formatting elements.

    /// How many formatting elements have been closed only by what was around them.
    fn missing(&self) -> usize {
        let is_open = |one: &Formatting| {
            one.tag == MARKER || self.stack.iter().rev().inspect(|_| self.step()).any(|open| open.serial == one.serial)
        };
        self.formatting.iter().rev().take_while(|one| !is_open(one)).count()
    }

    fn reopen(&mut self) -> Sure {
        let missing = self.missing();
        if missing == 0 {
            return Ok(());
        }
        if self.is_fostering() {
            return Err("reopened in a table");
        }
        for at in self.formatting.len() - missing..self.formatting.len() {
            let one = self.formatting[at];
            self.repeat(one, self.found.elements.len() as u32, self.stack.len())?;
            self.formatting[at].serial = self.push(one.tag)?;
        }
        Ok(())
    }

    /// Reads an anchor once more, as the next element in what is open below `from` on the stack.
    fn repeat(&mut self, one: Formatting, at: u32, from: usize) -> Sure {
        if one.link == 0 {
            return Ok(());
        }
        self.reopened += 1;
        if self.reopened > MOST_REOPENED {
            return Err("many reopened");
        }
        self.found.repeat(one.link - 1, at as usize);
        for open in &mut self.stack[from..] {
            open.after += 1;
        }
        for entry in self.formatting.iter_mut().filter(|entry| entry.link > at) {
            entry.link += 1;
        }
        Ok(())
    }

    fn push_formatting(&mut self, one: Formatting) -> Sure {
        let from = self.formatting.iter().rposition(|entry| entry.tag == MARKER).map_or(0, |at| at + 1);
        let same =
            self.formatting[from..].iter().filter(|entry| entry.tag == one.tag && entry.is_plain == one.is_plain);
        if same.count() >= 3 {
            if !one.is_plain {
                return Err("many equal formatting elements"); // "the Noah's Ark clause"
            }
            let is_same = |entry: &Formatting| entry.tag == one.tag && entry.is_plain;
            if let Some(at) = self.formatting[from..].iter().position(is_same) {
                self.formatting.remove(from + at);
            }
        }
        if self.formatting.len() >= MOST_FORMATTING {
            return Err("much formatting");
        }
        self.formatting.push(one);
        Ok(())
    }

    fn push_marker(&mut self) -> Sure {
        if self.formatting.len() >= MOST_FORMATTING {
            return Err("much formatting");
        }
        self.formatting.push(Formatting { tag: MARKER, serial: 0, link: 0, is_plain: true });
        Ok(())
    }

    fn clear_to_marker(&mut self) {
        while let Some(one) = self.formatting.pop() {
            if one.tag == MARKER {
                return;
            }
        }
    }

    /// The adoption agency algorithm (13.2.6.4.7) for an end tag.
    fn adopt(&mut self, tag: Tag) -> Sure {
        if let Some(open) = self.stack.last() {
            let serial = open.serial;
            if open.tag == tag && !self.formatting.iter().any(|one| one.serial == serial) {
                self.stack.pop();
                return Ok(());
            }
        }
        for _ in 0..8 {
            let from = self.formatting.iter().rposition(|one| one.tag == MARKER).map_or(0, |at| at + 1);
            let Some(listed) = self.formatting[from..].iter().rposition(|one| one.tag == tag) else {
                self.end_any(tag);
                return Ok(());
            };
            let listed = from + listed;
            let element = self.formatting[listed];
            let Some(opened) = self.stack.iter().rposition(|open| open.serial == element.serial) else {
                self.formatting.remove(listed);
                return Ok(());
            };
            if self.stack[opened + 1..].iter().any(|open| ends_scope(open.tag)) {
                return Ok(());
            }
            let Some(block) = self.stack[opened..].iter().position(|open| is_special(open.tag)) else {
                self.stack.truncate(opened);
                self.formatting.remove(listed);
                return Ok(());
            };
            self.adopt_block(listed, opened, opened + block)?;
        }
        Ok(())
    }

    /// Moves the contents of a block into a copy of a formatting element that began before it.
    fn adopt_block(&mut self, listed: usize, opened: usize, block: usize) -> Sure {
        if opened == 0 || matches!(self.stack[opened - 1].tag, TABLE | TBODY | TFOOT | THEAD | TR) {
            return Err("adopted in a table");
        }
        let element = self.formatting[listed];
        let mut bookmark = listed; // where the copy goes in the list, once the original is removed from it
        let mut block = block;
        let mut kept = Vec::new(); // of the elements between them, places in the list of those that are copied
        let mut counter = 0;
        let mut at = block;
        while at > opened + 1 {
            at -= 1;
            counter += 1;
            let serial = self.stack[at].serial;
            let place = self.formatting.iter().position(|one| one.serial == serial && one.tag != MARKER);
            if place.is_some() && counter > 3 {
                return Err("a long adoption"); // lexbor does not do what the standard says
            }
            let Some(found) = place else {
                self.stack.remove(at);
                block -= 1;
                continue;
            };
            if kept.is_empty() {
                bookmark = found + 1;
            }
            self.serial += 1;
            self.stack[at].serial = self.serial;
            self.formatting[found].serial = self.serial;
            kept.push(found);
        }
        for (depth, found) in kept.iter().rev().enumerate() {
            let here = self.stack[block].after;
            let one = self.formatting[*found];
            self.repeat(one, here, block)?;
            self.stack[opened + 1 + depth].after = self.stack[block].after;
        }
        let here = self.stack[block].after;
        self.repeat(element, here, block + 1)?;
        self.serial += 1;
        let listed = self.formatting.iter().position(|one| one.serial == element.serial).ok_or("lost")?;
        let copy = Formatting { serial: self.serial, ..self.formatting[listed] };
        self.formatting.remove(listed);
        bookmark -= usize::from(listed < bookmark);
        self.formatting.insert(bookmark, copy);
        self.stack.remove(opened);
        let after = here + u32::from(element.link != 0);
        self.stack.insert(block, Open { tag: element.tag, serial: self.serial, after });
        Ok(())
    }

    // Texts.

    fn text(&mut self, blank: bool) -> Sure {
        match self.mode {
            Mode::Initial | Mode::BeforeHtml | Mode::BeforeHead if blank => Ok(()),
            Mode::InHead | Mode::InHeadNoscript | Mode::AfterHead | Mode::InColumnGroup if blank => Ok(()),
            Mode::InTable | Mode::InTableBody | Mode::InRow if self.is_fostering() => {
                if blank {
                    return Ok(());
                }
                self.reopen()
            }
            Mode::InBody | Mode::InCell | Mode::InCaption => self.reopen(),
            Mode::InTable | Mode::InTableBody | Mode::InRow => self.reopen(),
            Mode::AfterBody | Mode::AfterAfterBody => {
                if !blank {
                    self.mode = Mode::InBody;
                }
                self.reopen()
            }
            Mode::InColumnGroup => {
                if self.leave_column_group() {
                    return self.text(blank);
                }
                Ok(())
            }
            _ => {
                self.advance()?;
                self.text(blank)
            }
        }
    }

    /// Return whether what is put here, and is not of a table, goes before the table.
    fn is_fostering(&self) -> bool {
        let is_in_table = matches!(self.mode, Mode::InTable | Mode::InTableBody | Mode::InRow);
        is_in_table && matches!(self.current(), TABLE | TBODY | TFOOT | THEAD | TR)
    }

    /// Goes to the next mode of those before the body, as for what does not belong into this one.
    fn advance(&mut self) -> Sure {
        self.mode = match self.mode {
            Mode::Initial => Mode::BeforeHtml,
            Mode::BeforeHtml => {
                self.push(HTML)?;
                Mode::BeforeHead
            }
            Mode::BeforeHead => {
                self.push(HEAD)?;
                Mode::InHead
            }
            Mode::InHead => {
                self.stack.pop();
                Mode::AfterHead
            }
            Mode::InHeadNoscript => {
                self.stack.pop();
                Mode::InHead
            }
            _ => {
                self.push(BODY)?;
                Mode::InBody
            }
        };
        Ok(())
    }

    fn raw_text(&mut self, tag: Tag, name: &[u8]) -> Sure<Range> {
        let range = self.tokens.raw_text(name);
        if tag == SCRIPT && may_be_escaped(&self.tokens.source[range.0..range.1]) {
            return Err("escaped script");
        }
        self.skip_end_tag();
        Ok(range)
    }

    /// Reads the end tag that closes a raw text, if there is one.
    fn skip_end_tag(&mut self) {
        self.tokens.next();
    }

    // Start tags.

    fn start(&mut self, tag: Tag) -> Sure {
        match self.mode {
            Mode::Initial => self.advance_to_start(tag),
            Mode::BeforeHtml if tag == HTML => {
                self.found.html(&self.tokens)?;
                self.push(HTML)?;
                self.mode = Mode::BeforeHead;
                Ok(())
            }
            Mode::BeforeHtml => self.advance_to_start(tag),
            _ if tag == HTML => self.second_html(),
            Mode::BeforeHead if tag == HEAD => {
                self.push(HEAD)?;
                self.mode = Mode::InHead;
                Ok(())
            }
            Mode::BeforeHead => self.advance_to_start(tag),
            Mode::InHead => self.start_in_head(tag),
            Mode::InHeadNoscript => match tag {
                BASEFONT | BGSOUND | LINK | META | NOFRAMES | STYLE => self.head_element(tag),
                HEAD | NOSCRIPT => Ok(()),
                _ => self.advance_to_start(tag),
            },
            Mode::AfterHead => match tag {
                BODY => {
                    self.push(BODY)?;
                    self.mode = Mode::InBody;
                    Ok(())
                }
                FRAMESET => Err("frameset"),
                HEAD => Ok(()),
                _ if is_of_head(tag) => self.head_element(tag),
                _ => self.advance_to_start(tag),
            },
            Mode::InBody => self.start_in_body(tag),
            Mode::InTable => self.start_in_table(tag),
            Mode::InCaption => match tag {
                CAPTION | COL | COLGROUP | TBODY | TD | TFOOT | TH | THEAD | TR => {
                    if self.leave_caption() {
                        return self.start(tag);
                    }
                    Ok(())
                }
                _ => self.start_in_body(tag),
            },
            Mode::InColumnGroup => match tag {
                COL => Ok(()),
                TEMPLATE => self.head_element(tag),
                _ => {
                    if self.leave_column_group() {
                        return self.start(tag);
                    }
                    Ok(())
                }
            },
            Mode::InTableBody => self.start_in_table_body(tag),
            Mode::InRow => self.start_in_row(tag),
            Mode::InCell => match tag {
                CAPTION | COL | COLGROUP | TBODY | TD | TFOOT | TH | THEAD | TR => {
                    if self.any_in_scope(is_cell, Scope::Table) {
                        self.leave_cell();
                        return self.start(tag);
                    }
                    Ok(())
                }
                _ => self.start_in_body(tag),
            },
            Mode::AfterBody | Mode::AfterAfterBody => {
                self.mode = Mode::InBody;
                self.start(tag)
            }
        }
    }

    fn advance_to_start(&mut self, tag: Tag) -> Sure {
        self.advance()?;
        self.start(tag)
    }

    /// The attributes of a second `html` are given to the first.
    fn second_html(&mut self) -> Sure {
        if !self.tokens.attributes.is_empty() {
            return Err("second html");
        }
        if matches!(self.mode, Mode::AfterBody | Mode::AfterAfterBody) {
            return Ok(());
        }
        if self.mode == Mode::InColumnGroup || self.mode == Mode::InHeadNoscript {
            return Err("second html");
        }
        Ok(())
    }

    fn start_in_head(&mut self, tag: Tag) -> Sure {
        match tag {
            HEAD => Ok(()),
            NOSCRIPT => {
                self.push(NOSCRIPT)?;
                self.mode = Mode::InHeadNoscript;
                Ok(())
            }
            _ if is_of_head(tag) => self.head_element(tag),
            _ => self.advance_to_start(tag),
        }
    }

    /// An element that is read by the same rules wherever it stands.
    fn head_element(&mut self, tag: Tag) -> Sure {
        match tag {
            BASE => self.found.base(&self.tokens),
            LINK => self.found.link(&self.tokens),
            META => self.found.meta(&self.tokens, self.names),
            TITLE => {
                let range = self.raw_text(TITLE, b"title")?;
                self.found.title(&self.tokens, range)
            }
            SCRIPT => self.raw_text(SCRIPT, b"script").map(drop),
            STYLE => self.raw_text(STYLE, b"style").map(drop),
            NOFRAMES => Err("noframes"),
            TEMPLATE => self.template(),
            _ => Ok(()),
        }
    }

    /// Skips a template, which is not in the document, with those in it.
    fn template(&mut self) -> Sure {
        let mut depth = 1;
        while depth > 0 {
            match self.tokens.next() {
                Token::Start => {
                    let tag = self.tag();
                    match tag {
                        TEMPLATE => depth += 1,
                        SVG | MATH | COL | COLGROUP | SELECT | FRAMESET | PLAINTEXT => return Err("template"),
                        APPLET | CAPTION | MARQUEE | OBJECT | TD | TH => return Err("template"), // markers may stay
                        _ => self.skip_raw_text(tag)?,
                    }
                }
                Token::End => depth -= usize::from(self.tag() == TEMPLATE),
                Token::Ended => return Err("open template"),
                _ => (),
            }
        }
        Ok(())
    }

    fn skip_raw_text(&mut self, tag: Tag) -> Sure {
        let name: &[u8] = match tag {
            SCRIPT => b"script",
            STYLE => b"style",
            TITLE => b"title",
            TEXTAREA => b"textarea",
            XMP => b"xmp",
            IFRAME => b"iframe",
            NOEMBED => b"noembed",
            NOFRAMES => b"noframes",
            _ => return Ok(()),
        };
        self.raw_text(tag, name).map(drop)
    }

    fn start_in_body(&mut self, tag: Tag) -> Sure {
        match tag {
            A => self.anchor(),
            _ if is_block(tag) => {
                self.close_p();
                self.push(tag)?;
                self.look_behind_pre(tag)
            }
            _ if is_formatting(tag) => self.start_formatting(tag),
            _ if is_heading(tag) => {
                self.close_p();
                if is_heading(self.current()) {
                    self.stack.pop();
                }
                self.push(tag).map(drop)
            }
            LI => self.start_item(LI, &[LI]),
            DD | DT => self.start_item(tag, &[DD, DT]),
            P => {
                self.close_p();
                self.push(P).map(drop)
            }
            IMG | IMAGE | BR | EMBED | KEYGEN | WBR | INPUT => self.reopen(),
            AREA => {
                self.reopen()?;
                self.found.address(Kind::Area, b"href", &self.tokens)
            }
            IFRAME => {
                self.found.address(Kind::Iframe, b"src", &self.tokens)?;
                self.raw_text(IFRAME, b"iframe").map(drop)
            }
            PARAM | SOURCE | TRACK => Ok(()),
            HR => {
                self.close_p();
                Ok(())
            }
            _ if is_of_head(tag) => self.head_element(tag),
            BODY | CAPTION | COL | COLGROUP | FRAME | HEAD | TBODY | TD | TFOOT | TH | THEAD | TR => Ok(()),
            FRAMESET => Err("frameset"),
            FORM => {
                if self.form.is_some() {
                    return Ok(());
                }
                self.close_p();
                self.form = Some(self.push(FORM)?);
                Ok(())
            }
            BUTTON => {
                if self.in_scope(BUTTON, Scope::Default) {
                    self.close_implied(MARKER);
                    self.pop_until(|one| one == BUTTON);
                }
                self.reopen()?;
                self.push(BUTTON).map(drop)
            }
            APPLET | MARQUEE | OBJECT => {
                self.reopen()?;
                self.push(tag)?;
                self.push_marker()
            }
            TABLE => self.table(),
            TEXTAREA => {
                if self.missing() > 0 {
                    return Err("textarea"); // lexbor opens them again before it, which the standard does not
                }
                self.raw_text(TEXTAREA, b"textarea").map(drop)
            }
            XMP => {
                self.close_p();
                self.reopen()?;
                self.raw_text(XMP, b"xmp").map(drop)
            }
            NOEMBED => self.raw_text(NOEMBED, b"noembed").map(drop),
            PLAINTEXT => Err("plaintext"),
            SELECT => self.select(),
            OPTGROUP | OPTION => {
                if self.current() == OPTION {
                    self.stack.pop();
                }
                self.reopen()?;
                self.push(tag).map(drop)
            }
            RB | RTC | RP | RT => self.ruby(tag),
            SVG => self.svg(),
            MATH => Err("math"),
            SELECTEDCONTENT => Err("selectedcontent"),
            _ => {
                self.reopen()?;
                self.push(tag).map(drop)
            }
        }
    }

    /// The first end of a line in a `pre` is not there, so it opens nothing again.
    fn look_behind_pre(&self, tag: Tag) -> Sure {
        let next = self.tokens.source.get(self.tokens.at);
        let is_line = matches!(tag, PRE | LISTING) && matches!(next, Some(b'\n' | b'\r' | b'&'));
        if is_line && self.missing() > 0 {
            return Err("pre");
        }
        Ok(())
    }

    fn ruby(&mut self, tag: Tag) -> Sure {
        if self.in_scope(RUBY, Scope::Default) {
            self.close_implied(if matches!(tag, RP | RT) { RTC } else { MARKER });
        }
        self.push(tag).map(drop)
    }

    fn table(&mut self) -> Sure {
        if self.in_scope(P, Scope::Button) {
            match self.is_quirky {
                Some(true) => (),
                Some(false) => self.close_p(),
                None => return Err("unknown doctype"),
            }
        }
        self.push(TABLE)?;
        self.mode = Mode::InTable;
        Ok(())
    }

    fn anchor(&mut self) -> Sure {
        let from = self.formatting.iter().rposition(|one| one.tag == MARKER).map_or(0, |at| at + 1);
        if let Some(at) = self.formatting[from..].iter().rposition(|one| one.tag == A) {
            let serial = self.formatting[from + at].serial;
            self.adopt(A)?;
            self.formatting.retain(|one| one.tag == MARKER || one.serial != serial);
            self.stack.retain(|open| open.serial != serial);
        }
        self.reopen()?;
        let link = self.found.anchor(&self.tokens)?;
        let serial = self.push(A)?;
        let is_plain = self.tokens.attributes.is_empty();
        self.push_formatting(Formatting { tag: A, serial, link, is_plain })
    }

    fn start_formatting(&mut self, tag: Tag) -> Sure {
        self.reopen()?;
        if tag == NOBR && self.in_scope(NOBR, Scope::Default) {
            self.adopt(NOBR)?;
            self.reopen()?;
        }
        let serial = self.push(tag)?;
        let is_plain = self.tokens.attributes.is_empty();
        self.push_formatting(Formatting { tag, serial, link: 0, is_plain })
    }

    fn start_item(&mut self, tag: Tag, closed_by_it: &[Tag]) -> Sure {
        let mut closed = None;
        for open in self.stack.iter().rev() {
            if closed_by_it.contains(&open.tag) {
                closed = Some(open.tag);
                break;
            }
            if is_special(open.tag) && !matches!(open.tag, ADDRESS | DIV | P) {
                break;
            }
        }
        if let Some(item) = closed {
            self.close_implied(item);
            self.pop_until(|open| open == item);
        }
        self.close_p();
        self.push(tag).map(drop)
    }

    /// Reads a menu of choices, in which only these and texts are expected; rules for others have changed lately.
    fn select(&mut self) -> Sure {
        if self.is_fostering() {
            return Err("select in a table");
        }
        self.reopen()?;
        self.push(SELECT)?;
        loop {
            match self.tokens.next() {
                Token::Start => match self.tag() {
                    OPTION | OPTGROUP => (),
                    SCRIPT => self.raw_text(SCRIPT, b"script").map(drop)?,
                    _ => return Err("in select"),
                },
                Token::End => match self.tag() {
                    SELECT => break,
                    OPTION | OPTGROUP => (),
                    _ => return Err("in select"),
                },
                Token::Ended => break,
                _ => (),
            }
        }
        self.stack.pop();
        Ok(())
    }

    /// Reads a drawing whose elements are all closed, and none of which may end it.
    fn svg(&mut self) -> Sure {
        if self.is_fostering() {
            return Err("svg in a table");
        }
        self.reopen()?;
        if self.tokens.closes_itself {
            return Ok(());
        }
        let mut open = vec![SVG];
        loop {
            let start = self.tokens.at;
            match self.tokens.next() {
                Token::Start => {
                    let tag = self.tag();
                    let name = &self.tokens.source[self.tokens.name.0..self.tokens.name.1];
                    if tag == STYLE || tag == TITLE || name.eq_ignore_ascii_case(b"desc") {
                        if tag == TITLE {
                            self.found.foreign_title()?;
                        }
                        if !self.tokens.closes_itself {
                            self.svg_text(tag)?;
                        }
                        continue;
                    }
                    if !is_drawn(name) {
                        return Err("in svg");
                    }
                    if !self.tokens.closes_itself {
                        open.push(tag);
                    }
                    if open.len() > DEEPEST {
                        return Err("deep");
                    }
                }
                Token::End => {
                    if open.pop() != Some(self.tag()) {
                        return Err("in svg");
                    }
                    if open.is_empty() {
                        return Ok(());
                    }
                }
                Token::Doctype(_) => return Err("in svg"),
                Token::Ignored if self.tokens.source[start..].starts_with(b"<![") => return Err("in svg"),
                Token::Ended => return Ok(()),
                _ => (),
            }
        }
    }

    fn svg_text(&mut self, tag: Tag) -> Sure {
        loop {
            let start = self.tokens.at;
            match self.tokens.next() {
                Token::Text { .. } => (),
                Token::End if self.tag() == tag => return Ok(()),
                Token::Ignored if !self.tokens.source[start..].starts_with(b"<![") => (),
                _ => return Err("in svg"),
            }
        }
    }

    fn start_in_table(&mut self, tag: Tag) -> Sure {
        match tag {
            CAPTION => {
                self.clear_stack(|one| one == TABLE);
                self.push_marker()?;
                self.push(CAPTION)?;
                self.mode = Mode::InCaption;
                Ok(())
            }
            COLGROUP | COL => {
                self.clear_stack(|one| one == TABLE);
                self.push(COLGROUP)?;
                self.mode = Mode::InColumnGroup;
                Ok(())
            }
            TBODY | TFOOT | THEAD => {
                self.clear_stack(|one| one == TABLE);
                self.push(tag)?;
                self.mode = Mode::InTableBody;
                Ok(())
            }
            TD | TH | TR => {
                self.clear_stack(|one| one == TABLE);
                self.push(TBODY)?;
                self.mode = Mode::InTableBody;
                self.start(tag)
            }
            TABLE => {
                if self.in_scope(TABLE, Scope::Table) {
                    self.pop_until(|one| one == TABLE);
                    self.reset_mode();
                    return self.start(tag);
                }
                Ok(())
            }
            STYLE | SCRIPT | TEMPLATE => self.head_element(tag),
            INPUT if self.is_hidden() => Ok(()),
            FORM => {
                if self.form.is_none() {
                    self.serial += 1;
                    self.form = Some(self.serial);
                }
                Ok(())
            }
            _ if !self.is_fostering() => self.start_in_body(tag),
            IMG | IMAGE | BR | EMBED | KEYGEN | WBR | INPUT => self.reopen(),
            PARAM | SOURCE | TRACK | BODY | FRAME | HEAD => Ok(()),
            _ => Err("beside a table's cells"),
        }
    }

    fn is_hidden(&self) -> bool {
        let Some(range) = self.tokens.value_of(b"type") else { return false };
        self.tokens.source[range.0..range.1].eq_ignore_ascii_case(b"hidden")
    }

    fn start_in_table_body(&mut self, tag: Tag) -> Sure {
        match tag {
            TR => {
                self.clear_stack(is_table_body);
                self.push(TR)?;
                self.mode = Mode::InRow;
                Ok(())
            }
            TH | TD => {
                self.clear_stack(is_table_body);
                self.push(TR)?;
                self.mode = Mode::InRow;
                self.start(tag)
            }
            CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD => {
                if self.leave_table_body() {
                    return self.start(tag);
                }
                Ok(())
            }
            _ => self.start_in_table(tag),
        }
    }

    fn start_in_row(&mut self, tag: Tag) -> Sure {
        match tag {
            TH | TD => {
                self.clear_stack(|one| one == TR);
                self.push(tag)?;
                self.mode = Mode::InCell;
                self.push_marker()
            }
            CAPTION | COL | COLGROUP | TBODY | TFOOT | THEAD | TR => {
                if self.leave_row() {
                    return self.start(tag);
                }
                Ok(())
            }
            _ => self.start_in_table(tag),
        }
    }

    // What ends the parts of a table.

    fn clear_stack(&mut self, is_it: impl Fn(Tag) -> bool) {
        while !is_it(self.current()) && !matches!(self.current(), HTML | TEMPLATE | MARKER) {
            self.stack.pop();
        }
    }

    fn leave_caption(&mut self) -> bool {
        if !self.in_scope(CAPTION, Scope::Table) {
            return false;
        }
        self.close_implied(MARKER);
        self.pop_until(|tag| tag == CAPTION);
        self.clear_to_marker();
        self.mode = Mode::InTable;
        true
    }

    fn leave_column_group(&mut self) -> bool {
        if self.current() != COLGROUP {
            return false;
        }
        self.stack.pop();
        self.mode = Mode::InTable;
        true
    }

    fn leave_table_body(&mut self) -> bool {
        if !self.any_in_scope(is_table_body, Scope::Table) {
            return false;
        }
        self.clear_stack(is_table_body);
        self.stack.pop();
        self.mode = Mode::InTable;
        true
    }

    fn leave_row(&mut self) -> bool {
        if !self.in_scope(TR, Scope::Table) {
            return false;
        }
        self.clear_stack(|tag| tag == TR);
        self.stack.pop();
        self.mode = Mode::InTableBody;
        true
    }

    fn leave_cell(&mut self) {
        self.close_implied(MARKER);
        self.pop_until(is_cell);
        self.clear_to_marker();
        self.mode = Mode::InRow;
    }

    fn reset_mode(&mut self) {
        self.mode = Mode::InBody;
        for open in self.stack.iter().rev() {
            self.mode = match open.tag {
                TD | TH => Mode::InCell,
                TR => Mode::InRow,
                TBODY | THEAD | TFOOT => Mode::InTableBody,
                CAPTION => Mode::InCaption,
                COLGROUP => Mode::InColumnGroup,
                TABLE => Mode::InTable,
                BODY | HTML => Mode::InBody,
                _ => continue,
            };
            return;
        }
    }

    // End tags.

    fn end(&mut self, tag: Tag) -> Sure {
        match self.mode {
            Mode::Initial | Mode::BeforeHtml | Mode::BeforeHead => self.end_before_head(tag),
            Mode::InHead => match tag {
                HEAD => {
                    self.stack.pop();
                    self.mode = Mode::AfterHead;
                    Ok(())
                }
                BODY | HTML | BR => self.advance_to_end(tag),
                _ => Ok(()),
            },
            Mode::InHeadNoscript => match tag {
                NOSCRIPT => {
                    self.stack.pop();
                    self.mode = Mode::InHead;
                    Ok(())
                }
                BR => self.advance_to_end(tag),
                _ => Ok(()),
            },
            Mode::AfterHead => match tag {
                BODY | HTML | BR => self.advance_to_end(tag),
                _ => Ok(()),
            },
            Mode::InBody => self.end_in_body(tag),
            Mode::InTable => self.end_in_table(tag),
            Mode::InCaption => match tag {
                CAPTION => {
                    self.leave_caption();
                    Ok(())
                }
                TABLE => {
                    if self.leave_caption() {
                        return self.end(tag);
                    }
                    Ok(())
                }
                BODY | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR => Ok(()),
                _ => self.end_in_body(tag),
            },
            Mode::InColumnGroup => match tag {
                COLGROUP => {
                    self.leave_column_group();
                    Ok(())
                }
                COL | TEMPLATE => Ok(()),
                _ => {
                    if self.leave_column_group() {
                        return self.end(tag);
                    }
                    Ok(())
                }
            },
            Mode::InTableBody => self.end_in_table_body(tag),
            Mode::InRow => self.end_in_row(tag),
            Mode::InCell => self.end_in_cell(tag),
            Mode::AfterBody => {
                if tag == HTML {
                    self.mode = Mode::AfterAfterBody;
                    return Ok(());
                }
                self.mode = Mode::InBody;
                self.end(tag)
            }
            Mode::AfterAfterBody => {
                self.mode = Mode::InBody;
                self.end(tag)
            }
        }
    }

    fn advance_to_end(&mut self, tag: Tag) -> Sure {
        self.advance()?;
        self.end(tag)
    }

    fn end_before_head(&mut self, tag: Tag) -> Sure {
        if matches!(tag, HEAD | BODY | HTML | BR) {
            return self.advance_to_end(tag);
        }
        if self.mode == Mode::Initial {
            self.mode = Mode::BeforeHtml;
        }
        Ok(())
    }

    fn end_in_body(&mut self, tag: Tag) -> Sure {
        match tag {
            BODY | HTML => {
                if self.in_scope(BODY, Scope::Default) {
                    self.mode = Mode::AfterBody;
                    if tag == HTML {
                        return self.end(tag);
                    }
                }
                Ok(())
            }
            TEMPLATE => Ok(()),
            _ if is_formatting(tag) => self.adopt(tag),
            _ if is_block(tag) || tag == BUTTON => self.end_scoped(tag, Scope::Default),
            SELECT => Ok(()),
            FORM => self.end_form(),
            P => {
                self.close_p();
                Ok(())
            }
            LI => self.end_scoped(LI, Scope::List),
            DD | DT => self.end_scoped(tag, Scope::Default),
            _ if is_heading(tag) => {
                if self.any_in_scope(is_heading, Scope::Default) {
                    self.close_implied(MARKER);
                    self.pop_until(is_heading);
                }
                Ok(())
            }
            APPLET | MARQUEE | OBJECT => {
                if self.in_scope(tag, Scope::Default) {
                    self.close_implied(MARKER);
                    self.pop_until(|one| one == tag);
                    self.clear_to_marker();
                }
                Ok(())
            }
            BR => self.reopen(),
            _ => {
                self.end_any(tag);
                Ok(())
            }
        }
    }

    fn end_scoped(&mut self, tag: Tag, scope: Scope) -> Sure {
        if self.in_scope(tag, scope) {
            self.close_implied(if matches!(tag, LI | DD | DT) { tag } else { MARKER });
            self.pop_until(|one| one == tag);
        }
        Ok(())
    }

    /// A form's end closes nothing that is still open in it.
    fn end_form(&mut self) -> Sure {
        let Some(serial) = self.form.take() else { return Ok(()) };
        let Some(at) = self.stack.iter().rposition(|open| open.serial == serial) else { return Ok(()) };
        if self.stack[at + 1..].iter().any(|open| ends_scope(open.tag)) {
            return Ok(());
        }
        self.close_implied(MARKER);
        if let Some(at) = self.stack.iter().rposition(|open| open.serial == serial) {
            self.stack.remove(at);
        }
        Ok(())
    }

    fn end_any(&mut self, tag: Tag) {
        for at in (0..self.stack.len()).rev() {
            self.step();
            if self.stack[at].tag == tag {
                self.stack.truncate(at);
                return;
            }
            if is_special(self.stack[at].tag) {
                return;
            }
        }
    }

    fn end_in_table(&mut self, tag: Tag) -> Sure {
        match tag {
            TABLE => {
                if self.in_scope(TABLE, Scope::Table) {
                    self.pop_until(|one| one == TABLE);
                    self.reset_mode();
                }
                Ok(())
            }
            BODY | CAPTION | COL | COLGROUP | HTML | TBODY | TD | TFOOT | TH | THEAD | TR => Ok(()),
            _ => self.end_in_body(tag),
        }
    }

    fn end_in_table_body(&mut self, tag: Tag) -> Sure {
        match tag {
            TBODY | TFOOT | THEAD => {
                if self.in_scope(tag, Scope::Table) {
                    self.clear_stack(is_table_body);
                    self.stack.pop();
                    self.mode = Mode::InTable;
                }
                Ok(())
            }
            TABLE => {
                if self.leave_table_body() {
                    return self.end(tag);
                }
                Ok(())
            }
            BODY | CAPTION | COL | COLGROUP | HTML | TD | TH | TR => Ok(()),
            _ => self.end_in_table(tag),
        }
    }

    fn end_in_row(&mut self, tag: Tag) -> Sure {
        match tag {
            TR => {
                self.leave_row();
                Ok(())
            }
            TABLE => {
                if self.leave_row() {
                    return self.end(tag);
                }
                Ok(())
            }
            TBODY | TFOOT | THEAD => {
                if self.in_scope(tag, Scope::Table) && self.leave_row() {
                    return self.end(tag);
                }
                Ok(())
            }
            BODY | CAPTION | COL | COLGROUP | HTML | TD | TH => Ok(()),
            _ => self.end_in_table(tag),
        }
    }

    fn end_in_cell(&mut self, tag: Tag) -> Sure {
        match tag {
            TD | TH => {
                if self.in_scope(tag, Scope::Table) {
                    self.close_implied(MARKER);
                    self.pop_until(|one| one == tag);
                    self.clear_to_marker();
                    self.mode = Mode::InRow;
                }
                Ok(())
            }
            BODY | CAPTION | COL | COLGROUP | HTML => Ok(()),
            TABLE | TBODY | TFOOT | THEAD | TR => {
                if self.in_scope(tag, Scope::Table) {
                    self.leave_cell();
                    return self.end(tag);
                }
                Ok(())
            }
            _ => self.end_in_body(tag),
        }
    }
}

fn is_cell(tag: Tag) -> bool {
    matches!(tag, TD | TH)
}

fn is_table_body(tag: Tag) -> bool {
    matches!(tag, TBODY | TFOOT | THEAD)
}

fn is_of_head(tag: Tag) -> bool {
    matches!(tag, BASE | BASEFONT | BGSOUND | LINK | META | NOFRAMES | SCRIPT | STYLE | TEMPLATE | TITLE)
}

/// Return whether an element of a drawing neither ends it nor holds anything but drawings.
fn is_drawn(name: &[u8]) -> bool {
    const DRAWN: [&[u8]; 40] = [
        b"animate",
        b"animatemotion",
        b"animatetransform",
        b"circle",
        b"clippath",
        b"defs",
        b"ellipse",
        b"feblend",
        b"fecolormatrix",
        b"fecomponenttransfer",
        b"fecomposite",
        b"feflood",
        b"fefunca",
        b"fegaussianblur",
        b"femerge",
        b"femergenode",
        b"feoffset",
        b"filter",
        b"g",
        b"line",
        b"lineargradient",
        b"marker",
        b"mask",
        b"metadata",
        b"path",
        b"pattern",
        b"polygon",
        b"polyline",
        b"radialgradient",
        b"rect",
        b"set",
        b"stop",
        b"switch",
        b"symbol",
        b"text",
        b"textpath",
        b"tspan",
        b"use",
        b"view",
        b"svg",
    ];
    DRAWN.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Return whether a document type means quirks (13.2.6.4.1); None for those that are rare.
fn quirky(doctype: &[u8]) -> Option<bool> {
    let text = String::from_utf8_lossy(doctype).to_ascii_lowercase();
    let words = text.trim_end_matches('>').trim();
    if words == "html" {
        return Some(false);
    }
    let rest = words.strip_prefix("html")?.trim_start();
    let rest = rest.strip_prefix("public")?.trim_start();
    let (name, rest) = rest.strip_prefix('"')?.split_once('"')?;
    let is_whole = rest.trim().is_empty() || (rest.trim().starts_with('"') && rest.matches('"').count() == 2);
    if !is_whole {
        return None;
    }
    match name {
        "-//w3c//dtd xhtml 1.0 transitional//en" | "-//w3c//dtd xhtml 1.0 strict//en" => Some(false),
        "-//w3c//dtd xhtml 1.1//en" | "-//w3c//dtd html 4.01//en" | "-//w3c//dtd xhtml+rdfa 1.0//en" => Some(false),
        "-//w3c//dtd html 4.01 transitional//en" => Some(rest.trim().is_empty()),
        "-//w3c//dtd html 4.0 transitional//en" => Some(true),
        _ => None,
    }
}

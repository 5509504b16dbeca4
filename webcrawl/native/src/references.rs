//! Character references (HTML Standard 13.2.5.72 and later) in values and texts.

use std::sync::OnceLock;

/// Names and what they stand for, sorted: `amp;`, a tab, and code points in hexadecimal. A test compares it with Python's.
const NAMES: &str = include_str!("entities.txt");
const LONGEST_NAME: usize = 33;
const LONGEST_BARE: usize = 6;

/// What the numbers 0x80 to 0x9F stand for; zero is the number itself.
const WINDOWS: [u32; 32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0, 0,
    0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
];

type Row = (&'static str, &'static str);

fn rows() -> impl Iterator<Item = Row> {
    NAMES.lines().filter_map(|line| line.split_once('\t'))
}

fn all() -> &'static [Row] {
    static ALL: OnceLock<Vec<Row>> = OnceLock::new();
    ALL.get_or_init(|| rows().collect())
}

/// The names that need no semicolon.
fn bare() -> &'static [Row] {
    static BARE: OnceLock<Vec<Row>> = OnceLock::new();
    BARE.get_or_init(|| rows().filter(|row| !row.0.ends_with(';')).collect())
}

fn found(table: &'static [Row], name: &str) -> Option<&'static str> {
    let at = table.binary_search_by(|row| row.0.cmp(name)).ok()?;
    Some(table[at].1)
}

/// Appends the text with its references replaced, and with ends of lines as one character.
pub fn decode(text: &str, into: &mut String, is_value: bool) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '\r']) {
        into.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix('\r') {
            into.push('\n');
            rest = after.strip_prefix('\n').unwrap_or(after);
            continue;
        }
        let taken = if rest[1..].starts_with('#') { number(rest, into) } else { name(rest, into, is_value) };
        if taken == 0 {
            into.push('&');
        }
        rest = &rest[taken.max(1)..];
    }
    into.push_str(rest);
}

/// Appends what a numeric reference stands for; returns its length, 0 if it is none.
fn number(text: &str, into: &mut String) -> usize {
    let bytes = text.as_bytes();
    let hexadecimal = matches!(bytes.get(2), Some(b'x' | b'X'));
    let (start, base) = if hexadecimal { (3, 16) } else { (2, 10) };
    let digits = bytes[start..].iter().take_while(|byte| (**byte as char).is_digit(base)).count();
    if digits == 0 {
        return 0;
    }
    let mut code = 0u32;
    for byte in &bytes[start..start + digits] {
        code = code.saturating_mul(base).saturating_add((*byte as char).to_digit(base).unwrap_or(0));
    }
    into.push(character(code));
    start + digits + usize::from(bytes.get(start + digits) == Some(&b';'))
}

fn character(code: u32) -> char {
    let mapped = match code {
        0x80..=0x9F if WINDOWS[code as usize - 0x80] != 0 => WINDOWS[code as usize - 0x80],
        0 => 0xFFFD,
        _ => code,
    };
    char::from_u32(mapped).unwrap_or('\u{FFFD}')
}

/// Appends what the longest name stands for that the text begins with; returns its length, 0 if there is none.
fn name(text: &str, into: &mut String, is_value: bool) -> usize {
    let bytes = text.as_bytes();
    let run = bytes[1..].iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if bytes.get(1 + run) == Some(&b';') {
        if let Some(codes) = found(all(), &text[1..run + 2]) {
            push(codes, into);
            return run + 2;
        }
    }
    for end in (2..=run.min(LONGEST_BARE)).rev() {
        let Some(codes) = found(bare(), &text[1..=end]) else { continue };
        let next = bytes.get(end + 1).copied().unwrap_or(b' ');
        if is_value && (next == b'=' || next.is_ascii_alphanumeric()) {
            return 0;
        }
        push(codes, into);
        return end + 1;
    }
    0
}

fn push(codes: &str, into: &mut String) {
    into.extend(codes.split(',').filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?)));
}

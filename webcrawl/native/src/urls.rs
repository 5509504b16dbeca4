//! Links whose canonical form is plain: `match_plain` and `match_foreign` of webcrawl/urls/canonical.py, by hand.

/// What a link's canonical form begins with, by what the link is; these are canonical URLs or parts of one.
pub struct Base<'a> {
    url: &'a str,
    scheme: &'a str,    // with the colon
    origin: &'a str,    // scheme, host and port
    directory: &'a str, // up to the last slash of the path
    path: &'a str,      // all before the query
}

impl<'a> Base<'a> {
    /// `url` is canonical, or empty. None if it is of another scheme than HTTP: only whole links are plain then.
    pub fn of(url: &'a str) -> Option<Self> {
        if !url.starts_with("http") {
            return None;
        }
        let host = url.find("//")? + 2;
        let root = host + url[host..].find('/')?;
        let path = &url[..url.find('?').unwrap_or(url.len())];
        let directory = &path[..path.rfind('/')? + 1];
        Some(Base { url, scheme: &url[..host - 2], origin: &url[..root], directory, path })
    }

    /// Return the directory to which the leading ./ and ../ of a link lead.
    fn above(&self, dots: &str) -> &'a str {
        let mut end = self.directory.len() - 1;
        for _ in 0..dots.matches("..").count() {
            if end > self.origin.len() {
                end = self.directory[..end].rfind('/').unwrap_or(end);
            }
        }
        &self.directory[..=end]
    }
}

pub enum Plain {
    Canonical,
    Foreign, // a scheme that is never fetched
    Doubtful,
}

/// Appends the canonical form of a plain link.
pub fn resolve(link: &str, base: Option<&Base>, into: &mut String) -> Plain {
    let bytes = link.as_bytes();
    if is_foreign(bytes) {
        return Plain::Foreign;
    }
    let end = match bytes.iter().position(|&byte| byte == b'#') {
        Some(at) if bytes[at..].iter().all(|byte| matches!(byte, b' '..=b'~')) => at,
        Some(_) => return Plain::Doubtful,
        None => bytes.len(),
    };
    match joined(&link[..end], base, into) {
        Some(()) => Plain::Canonical,
        None => Plain::Doubtful,
    }
}

fn joined(link: &str, base: Option<&Base>, into: &mut String) -> Option<()> {
    if link.starts_with("http") && is_whole(link) {
        into.push_str(link);
        return Some(());
    }
    let base = base?;
    let bytes = link.as_bytes();
    let start = match bytes.first() {
        None => base.url,
        Some(b'?') if is_query(bytes) => base.path,
        Some(b'/') if link.starts_with("//") => {
            if !has_plain_host(&bytes[2..]) {
                return None;
            }
            base.scheme
        }
        Some(b'/') if is_tail(bytes) => base.origin,
        Some(b'.') => {
            let dots = leading_dots(bytes);
            let rest = &bytes[dots..];
            if dots == 0 || !(rest.is_empty() || is_neighbour(rest)) {
                return None;
            }
            into.push_str(base.above(&link[..dots]));
            into.push_str(&link[dots..]);
            return Some(());
        }
        Some(_) if is_neighbour(bytes) => base.directory,
        Some(_) => return None,
    };
    into.push_str(start);
    into.push_str(link);
    Some(())
}

/// Return the length of the leading ./ and ../ of a link.
fn leading_dots(link: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = &link[at..];
        if rest.starts_with(b"./") {
            at += 2;
        } else if rest.starts_with(b"../") {
            at += 3;
        } else {
            return at;
        }
    }
}

fn is_whole(link: &str) -> bool {
    let rest = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://"));
    rest.is_some_and(|rest| has_plain_host(rest.as_bytes()))
}

/// Return whether this is a name of DNS with at least two labels, perhaps a port, and a plain path.
fn has_plain_host(rest: &[u8]) -> bool {
    let Some(end) = rest.iter().position(|&byte| byte == b'/') else { return false };
    let (authority, path) = rest.split_at(end);
    let (host, port) = match authority.iter().position(|&byte| byte == b':') {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    };
    host.len() < 254 && is_plain_name(host) && port.is_none_or(is_plain_port) && is_tail(path)
}

fn is_plain_name(host: &[u8]) -> bool {
    let mut last: &[u8] = b"";
    let mut labels = 0;
    for label in host.split(|&byte| byte == b'.') {
        let is_name = label.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if !is_name || label.is_empty() || label.len() > 63 || label.starts_with(b"xn--") {
            return false;
        }
        labels += 1;
        last = label;
    }
    labels > 1 && last[0].is_ascii_lowercase()
}

/// Return whether a port is no scheme's own, and is written as it stays: no default has four digits or more.
fn is_plain_port(port: &[u8]) -> bool {
    let is_number = port.iter().all(u8::is_ascii_digit);
    is_number && matches!((port.len(), port.first()), (4, Some(b'1'..=b'9')) | (5, Some(b'1'..=b'5')))
}

/// A path of whole segments and perhaps a query.
fn is_tail(rest: &[u8]) -> bool {
    let end = rest.iter().position(|&byte| byte == b'?').unwrap_or(rest.len());
    let (path, query) = rest.split_at(end);
    let is_path = path.is_empty() || (path[0] == b'/' && path[1..].split(|&byte| byte == b'/').all(is_segment));
    is_path && (query.is_empty() || is_query(query))
}

/// Return whether these characters stay as they are in a path, and do not begin as `.` or `..`.
fn is_segment(segment: &[u8]) -> bool {
    !begins_with_dot(segment) && segment.iter().all(|&byte| PATH[usize::from(byte)])
}

fn begins_with_dot(segment: &[u8]) -> bool {
    segment.starts_with(b".") || (segment.len() > 2 && segment[..3].eq_ignore_ascii_case(b"%2e"))
}

/// A link relative by name: no colon in its first segment.
fn is_neighbour(link: &[u8]) -> bool {
    let end = link.iter().position(|&byte| matches!(byte, b'/' | b'?')).unwrap_or(link.len());
    let first = &link[..end];
    end > 0 && is_segment(first) && !first.contains(&b':') && is_tail(&link[end..])
}

fn is_query(query: &[u8]) -> bool {
    query[1..].iter().all(|byte| matches!(byte, b'!' | b'$'..=b'&' | b'('..=b';' | b'=' | b'?'..=b'~'))
}

const PATH: [bool; 256] = {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~!$&'()*+,;=:@%.[]|-";
    let mut found = [false; 256];
    let mut at = 0;
    while at < letters.len() {
        found[letters[at] as usize] = true;
        at += 1;
    }
    found
};

fn is_foreign(link: &[u8]) -> bool {
    const SCHEMES: [&[u8]; 4] = [b"mailto:", b"javascript:", b"tel:", b"data:"];
    let Some(rest) = SCHEMES.iter().find_map(|scheme| link.strip_prefix(*scheme)) else { return false };
    !rest.starts_with(b"//") && rest.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

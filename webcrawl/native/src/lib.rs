//! Reads an ordinary HTML page's links without a tree, and resolves them (docs/html.md). Python's way is the
//! specification: what is not surely equal to it is a doubt, and left to it.

#![forbid(unsafe_code)]

mod found;
mod recent;
mod references;
mod tags;
mod tokens;
mod tree;
mod urls;

use std::collections::HashSet;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use found::{Found, Kind, Said};
use recent::Recent;
use tree::Builder;
use urls::{resolve, Base, Plain};

const LONGEST_BODY: usize = 1 << 30;

/// What was read of a page. Its links become objects of Python's only when they are asked for.
#[pyclass(frozen)]
struct Reading(Found);

#[pymethods]
impl Reading {
    fn __len__(&self) -> usize {
        self.0.elements.len()
    }

    /// The links as Python has them: kind, address, no text, rel.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let empty = intern!(py, "");
        let rows = self.0.elements.iter().map(|link| {
            let rel = self.0.value(link.rel);
            let rel = if rel.is_empty() { empty.clone() } else { PyString::new(py, rel) };
            (name(py, link.kind).clone(), PyString::new(py, self.0.value(link.address)), empty, rel)
        });
        PyList::new(py, rows)
    }

    #[getter]
    fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    #[getter]
    fn base(&self) -> Option<&str> {
        self.0.base.as_deref()
    }

    #[getter]
    fn canonical(&self) -> &str {
        &self.0.canonical
    }

    /// The attributes of the root element that name a language.
    #[getter]
    fn language<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.0.language.as_ref().map(|said| attributes(py, said)).transpose()
    }

    /// The attributes of meta elements and licences that say something of the document, in their order.
    #[getter]
    fn said<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.said.iter().map(|said| attributes(py, said)).collect()
    }

    /// The canonical URLs of the links, without those in `recent` unless `every` one is wanted; the number of those that
    /// were left out; and that of distinct foreign links.
    ///
    /// `base` is canonical or empty. `parse` gets each link that is not plain, and returns its canonical form or None.
    fn resolved<'py>(
        &self,
        py: Python<'py>,
        base: &str,
        longest: usize,
        recent: &Bound<'py, Recent>,
        every: bool,
        parse: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyList>, usize, usize)> {
        let recent = recent.get();
        let found = &self.0;
        let targets = py.detach(|| targets(found, base, longest, recent, every));
        let mut met = HashSet::with_capacity(targets.places.len());
        let urls = PyList::empty(py);
        let mut known = 0;
        for place in &targets.places {
            match *place {
                Place::Known(hash) => known += usize::from(met.insert(hash)),
                Place::Url { start, end, hash } => {
                    if met.insert(hash) {
                        urls.append(&targets.text[start..end])?;
                    }
                }
                Place::Doubtful(link) => {
                    let url = parse.call1((found.value(found.elements[link].address),))?;
                    if url.is_none() {
                        continue;
                    }
                    let hash = recent.hash(url.cast::<PyString>()?.to_str()?);
                    if !met.insert(hash) {
                        continue;
                    }
                    if !every && recent.has(hash) {
                        known += 1;
                    } else {
                        urls.append(url)?;
                    }
                }
            }
        }
        Ok((urls, known, targets.foreign))
    }
}

enum Place {
    Known(u64), // the hash of a URL that was met lately
    Url { start: usize, end: usize, hash: u64 },
    Doubtful(usize), // the link's number
}

struct Targets {
    text: String,
    places: Vec<Place>,
    foreign: usize,
}

/// Resolves each distinct link as far as that is plain.
fn targets(found: &Found, base: &str, longest: usize, recent: &Recent, every: bool) -> Targets {
    let base = Base::of(base);
    let mut text = String::new();
    let mut places = Vec::with_capacity(found.elements.len());
    let mut foreign = HashSet::new();
    for (number, link) in found.elements.iter().enumerate() {
        let address = found.value(link.address);
        let start = text.len();
        let plain = if address.len() <= longest { resolve(address, base.as_ref(), &mut text) } else { Plain::Doubtful };
        match plain {
            Plain::Canonical => {
                let hash = recent.hash(&text[start..]);
                if !every && recent.has(hash) {
                    text.truncate(start);
                    places.push(Place::Known(hash));
                } else {
                    places.push(Place::Url { start, end: text.len(), hash });
                }
            }
            Plain::Foreign => {
                foreign.insert(address);
            }
            Plain::Doubtful => places.push(Place::Doubtful(number)),
        }
    }
    Targets { text, places, foreign: foreign.len() }
}

fn name(py: Python<'_>, kind: Kind) -> &Bound<'_, PyString> {
    match kind {
        Kind::Anchor => intern!(py, "a"),
        Kind::Area => intern!(py, "area"),
        Kind::Iframe => intern!(py, "iframe"),
        Kind::Canonical => intern!(py, "canonical"),
    }
}

fn attributes<'py>(py: Python<'py>, said: &Said) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in said {
        found.set_item(name, value)?;
    }
    Ok(found)
}

/// Reads a page in UTF-8. Returns the reason if there is doubt.
///
/// `names` are those of the meta elements that are kept, in lower case.
#[pyfunction]
fn read<'py>(py: Python<'py>, body: &Bound<'py, PyBytes>, names: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
    let source = body.as_bytes();
    let read = py.detach(|| {
        if source.len() > LONGEST_BODY || memchr::memchr(0, source).is_some() {
            return Err("zeros");
        }
        let mut found = Found::default();
        Builder::new(source, &mut found, &names).read()?;
        Ok(found)
    });
    match read {
        Ok(found) => Ok(Bound::new(py, Reading(found))?.into_any()),
        Err(doubt) => Ok(PyString::new(py, doubt).into_any()),
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Reading>()?;
    module.add_class::<Recent>()?;
    module.add_function(wrap_pyfunction!(read, module)?)
}

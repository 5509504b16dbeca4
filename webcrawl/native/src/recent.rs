//! The table behind RecentUrls (webcrawl/urls/recent_urls.py): for each hash one place, which keeps the latest.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;

/// URLs by 64-bit hashes with a key of this table's own. Places are atomic, so that it is read without the lock.
#[pyclass(frozen)]
pub struct Recent {
    places: Vec<AtomicU64>,
    hashes: RandomState,
}

impl Recent {
    pub fn hash(&self, url: &str) -> u64 {
        self.hashes.hash_one(url.as_bytes())
    }

    fn place(&self, hash: u64) -> &AtomicU64 {
        &self.places[hash as usize & (self.places.len() - 1)]
    }

    pub fn has(&self, hash: u64) -> bool {
        self.place(hash).load(Relaxed) == hash
    }
}

#[pymethods]
impl Recent {
    /// `size`, the number of places, is rounded up to a power of two.
    #[new]
    fn new(size: usize) -> Self {
        let mut places = Vec::new();
        places.resize_with(size.max(1).next_power_of_two(), || AtomicU64::new(0));
        Recent { places, hashes: RandomState::new() }
    }

    fn __len__(&self) -> usize {
        self.places.len()
    }

    fn __contains__(&self, url: &str) -> bool {
        self.has(self.hash(url))
    }

    /// Return the URLs that are not remembered, in their order.
    fn unknown<'py>(
        &self,
        urls: Vec<Bound<'py, pyo3::types::PyString>>,
    ) -> PyResult<Vec<Bound<'py, pyo3::types::PyString>>> {
        let mut found = Vec::with_capacity(urls.len());
        for url in urls {
            if !self.has(self.hash(url.to_str()?)) {
                found.push(url);
            }
        }
        Ok(found)
    }

    fn add(&self, urls: Vec<Bound<'_, pyo3::types::PyString>>) -> PyResult<()> {
        for url in urls {
            let hash = self.hash(url.to_str()?);
            self.place(hash).store(hash, Relaxed);
        }
        Ok(())
    }

    fn clear(&self) {
        self.places.iter().for_each(|place| place.store(0, Relaxed));
    }
}

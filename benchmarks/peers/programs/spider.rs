// Crawls each host of a list of URLs with spider, all at once: a Website is one host. With a folder as the second word,
// it writes a WARC file per host there, and fails unless they have every page.
use spider::utils::warc::WarcConfig;
use spider::website::Website;
use std::time::Duration;

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1);
    let seeds = std::fs::read_to_string(words.next().expect("a list of URLs")).expect("a readable list");
    let folder = words.next();
    let mut crawls = Vec::new();
    for (number, seed) in seeds.lines().enumerate() {
        let mut website = Website::new(seed);
        website.with_respect_robots_txt(true).with_delay(0);
        if let Some(folder) = &folder {
            let path = format!("{folder}/{number}.warc");
            website.configuration.with_warc(WarcConfig { path, ..Default::default() });
        }
        crawls.push(tokio::spawn(crawl(website)));
    }
    for crawl in crawls {
        crawl.await.expect("a crawl that ends");
    }
}

async fn crawl(mut website: Website) {
    website.crawl().await;
    let pages = website.get_all_links_visited().await.len() as u64;
    let Some(writer) = website.get_warc_writer() else { return };
    for _ in 0..600 {
        if writer.record_count() > pages {
            break; // the first record describes the file
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(writer.record_count() > pages, "{} records of {} pages", writer.record_count(), pages);
    writer.flush().await.expect("a WARC file");
}

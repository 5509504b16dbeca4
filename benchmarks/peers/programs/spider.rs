// Crawls each host of a list of URLs with spider, all at once: a Website is one host. Prints the number of pages.
use spider::website::Website;

#[tokio::main]
async fn main() {
    let list = std::env::args().nth(1).expect("a list of URLs");
    let seeds = std::fs::read_to_string(list).expect("a readable list");
    let mut crawls = Vec::new();
    for seed in seeds.lines().map(str::to_string) {
        crawls.push(spider::tokio::spawn(async move {
            let mut website = Website::new(&seed);
            website.with_respect_robots_txt(true).with_delay(0);
            website.crawl().await;
            website.get_all_links_visited().await.len()
        }));
    }
    let mut pages = 0;
    for crawl in crawls {
        pages += crawl.await.expect("a crawl that ends");
    }
    println!("{pages}");
}

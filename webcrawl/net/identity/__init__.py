"""Who the crawler is: the key that signs requests, its directory, and the page about the crawl."""

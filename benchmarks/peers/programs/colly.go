// Crawls all hosts of a list of URLs with colly: links, robots.txt, everything in memory.
package main

import (
	"bufio"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	collector := colly.NewCollector(colly.Async(true), colly.MaxBodySize(0))
	collector.IgnoreRobotsTxt = false
	if err := collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 256}); err != nil {
		panic(err)
	}
	collector.OnHTML("a[href]", func(link *colly.HTMLElement) {
		url, _, _ := strings.Cut(link.Request.AbsoluteURL(link.Attr("href")), "#") // colly fetches each fragment anew
		if strings.HasPrefix(url, "http") {
			_ = link.Request.Visit(url) // an error says that it was visited, or is forbidden
		}
	})
	seeds, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(seeds)
	for lines.Scan() {
		_ = collector.Visit(lines.Text())
	}
	collector.Wait()
}

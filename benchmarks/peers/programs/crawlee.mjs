// Crawls all hosts of a list of URLs with Crawlee: links, robots.txt, everything in memory.
import { readFileSync } from 'node:fs';
import { CheerioCrawler, Configuration, log } from '@crawlee/cheerio';

log.setLevel(log.LEVELS.OFF);
const crawler = new CheerioCrawler(
    {
        respectRobotsTxtFile: true,
        minConcurrency: 32,
        sameDomainDelaySecs: Number(process.argv[3]),
        maxConcurrency: 256,
        maxRequestRetries: 0,
        async requestHandler({ enqueueLinks }) {
            await enqueueLinks({ strategy: 'all' });
        },
    },
    new Configuration({ persistStorage: false }),
);
await crawler.run(readFileSync(process.argv[2], 'utf8').trim().split('\n'));

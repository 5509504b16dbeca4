"""Which pages need a browser: learnt host by host from what rendering changes (docs/browser.md)."""

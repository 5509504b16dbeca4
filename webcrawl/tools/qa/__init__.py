"""How well a WACZ package replays: `packaged_answers` reads it, `replays` shows it in a browser."""

"""Why a page is missing: `gather` finds the facts about a URL, and `verdict` judges by them."""

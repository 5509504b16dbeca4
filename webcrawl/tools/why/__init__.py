"""Why a page is missing: `fact_finder` finds the facts about a URL, and `verdict` judges by them."""

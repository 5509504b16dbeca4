"""The actions of a reader on a rendered page: RENDER_ACTIONS (docs/browser.md).

Each is a script that acts once and returns whether it found anything to act on. All that are chosen
run in turn, and the page comes to rest in between, until none of them finds anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from playwright.async_api import Page

from webcrawl.adapter.browser_page import PageRendering, wait_until_idle

MAX_ROUNDS = 50  # for one page, because a list may have no end
TIME_SHARE = 0.5  # of the page's time; the rest is for loading it, and for its document

# In steps of a window, so that what is loaded when it comes into sight is loaded.
SCROLL = """async () => {
    let moved = false
    for (let step = 0; step < 100; step++) {
        const before = scrollY
        scrollBy({top: innerHeight, behavior: 'instant'})
        if (scrollY === before) break
        moved = true
        await new Promise(done => setTimeout(done, 50))
    }
    return moved
}"""
# An element that would lead to another page, or send a form, is not clicked. One is clicked again
# only if the page has grown since, because a menu opens and closes for ever.
MORE = r"""() => {
    const words = 'more|mehr|weitere|plus|más|mais|altro|meer|więcej|více|több|več|još|fler|mer'
    const word = new RegExp(`(^|[\\s(+])(${words})(?=$|[\\s).…:▾])`, 'i')
    const places = 'button, [role=button], input[type=button], a:not([href]), a[href^="#"], a[href^="javascript:"]'
    const clicked = window[Symbol.for('clicked for more')] ??= new WeakMap()
    const size = document.querySelectorAll('*').length
    let found = false
    for (const one of document.querySelectorAll(places)) {
        const text = (one.innerText || one.value || one.getAttribute('aria-label') || '').trim()
        const sends = one.form && one.type === 'submit'
        if (text.length > 40 || !word.test(text) || sends || one.disabled) continue
        if (!one.checkVisibility() || size <= (clicked.get(one) ?? 0)) continue
        clicked.set(one, size)
        found = true
        one.click()
    }
    return found
}"""
PLAY = """() => {
    const begun = window[Symbol.for('begun to play')] ??= new WeakSet()
    const media = [...document.querySelectorAll('video, audio')].filter(one => !begun.has(one))
    for (const one of media) {
        begun.add(one)
        one.muted = true  // a browser lets no page sound by itself
        one.play().catch(() => {})
    }
    return media.length > 0
}"""
ACTIONS = {"scroll": SCROLL, "more": MORE, "play": PLAY}
TO_TOP = "() => scrollTo({top: 0, behavior: 'instant'})"  # where a reader, and a screenshot, begins


async def act_on_page(
    rendering: PageRendering, names: Sequence[str], seconds: float, page: Page
) -> None:
    """Run the actions of these names until none finds anything to act on, for at most `seconds`.

    `rendering.acted_partly` is True afterwards if something was left.
    """
    rendering.acted_partly = True
    try:
        async with asyncio.timeout(seconds):
            for _ in range(MAX_ROUNDS):
                found = [await page.evaluate(ACTIONS[name]) for name in names]
                await wait_until_idle(rendering, page)
                if not any(found):
                    rendering.acted_partly = False
                    break
    except TimeoutError:
        # The page is taken as it is now
        pass
    await page.evaluate(TO_TOP)

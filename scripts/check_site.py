"""Open every page of the built site in a headless Chromium, on a wide screen and on a phone's: no error, every picture drawn, readable.

    uv run sphinx-build -n -W docs build/docs && uv run --group browser python scripts/check_site.py

Links and anchors are looked up in the pages as built. Chromium is the system's; nothing is fetched.
"""

import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from playwright.sync_api import Browser, ConsoleMessage, sync_playwright

from workspace import ROOT, report

SITE = ROOT / "build" / "docs"
WIDTHS = (400, 1280)
NOT_PAGES = ("genindex.html", "search.html", "py-modindex.html")

# A table or a program may be wider than the screen where it scrolls by itself; the page may not.
LOOK = """() => ({
    pictures: [...document.querySelectorAll("main img, main object, article img, article object")].map(each => ({
        name: each.getAttribute("src") || each.getAttribute("data"),
        drawn: each.tagName === "OBJECT" ? each.getBoundingClientRect().height > 0 && each.contentDocument !== undefined
                                         : each.complete && each.naturalWidth > 0,
        width: each.getBoundingClientRect().width,
        address: each.src || each.data,
    })),
    outside: [...document.querySelectorAll("article *")].filter(each => {
        if (each.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) return false;
        for (let box = each; box && box.tagName !== "ARTICLE"; box = box.parentElement)
            if (["auto", "scroll"].includes(getComputedStyle(box).overflowX) || box.classList.contains("headerlink")) return false;
        return true;
    }).map(each => each.outerHTML.slice(0, 80)),
    smallest: Math.min(...[...document.querySelectorAll("article p, article li, article td")].map(
        each => parseFloat(getComputedStyle(each).fontSize)), 99),
    anchors: [...document.querySelectorAll("[id]")].map(each => each.id),
    links: [...document.querySelectorAll("a[href]")].map(each => each.href),
})"""
SMALLEST_TEXT_PX = 11
MOST_SHRUNK = 0.75


def drawn_width_px(picture: Path) -> float:
    """Return the width that an SVG asks for, or that of its own coordinates, or 0 where it can't be read."""
    text = picture.read_text() if picture.exists() else ""
    if found := re.search(r'<svg[^>]* width="([\d.]+)(pt|px|)"', text):
        return float(found[1]) * (4 / 3 if found[2] == "pt" else 1)
    box = re.search(r'<svg[^>]* viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ', text)
    return float(box[1]) if box else 0.0


def page_faults(browser: Browser, page: Path, width: int) -> tuple[list[str], list[str], list[str]]:
    """Look at one page; return its faults, its anchors and its links."""
    name = f"{page.relative_to(SITE)} at {width} px"
    faults: list[str] = []

    def console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            faults.append(f"{name}: the console says {message.text}")

    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.on("console", console)
    tab.on("pageerror", lambda error: faults.append(f"{name}: {error}"))
    tab.on("requestfailed", lambda request: faults.append(f"{name}: {request.url} can't be had"))
    tab.goto(page.as_uri(), wait_until="load")
    seen = tab.evaluate(LOOK)
    tab.close()
    faults += [f"{name}: {each['name']} isn't drawn" for each in seen["pictures"] if not each["drawn"]]
    faults += [
        f"{name}: {each['name']} is shrunk to {each['width']:.0f} px, so that its words can't be read"
        for each in seen["pictures"]
        if each["address"].endswith(".svg")
        and each["width"] < MOST_SHRUNK * drawn_width_px(Path(unquote(urlsplit(each["address"]).path)))
    ]
    faults += [f"{name}: sticks out to the right: {each}" for each in seen["outside"]]
    if seen["smallest"] < SMALLEST_TEXT_PX:
        faults.append(f"{name}: text of {seen['smallest']} px")
    return faults, seen["anchors"], seen["links"]


def link_faults(anchors: dict[str, set[str]], links: dict[str, set[str]]) -> list[str]:
    """Return each link within the site that leads to no page, or to no anchor of its page."""
    found = []
    for page, targets in links.items():
        for target in sorted(targets):
            address, anchor = urldefrag(urljoin(page, target))
            if urlsplit(address).scheme != "file":
                continue
            file = Path(unquote(urlsplit(address).path))
            if not file.exists():
                found.append(f"{page}: {target} leads nowhere")
            elif anchor and file.suffix == ".html" and unquote(anchor) not in anchors.get(address, {unquote(anchor)}):
                found.append(f"{page}: {file.name} has no anchor {anchor}")
    return found


def main() -> None:
    """Look at every page, and fail when one has a fault."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium here: install the system's package chromium")
    pages = [
        page for page in sorted(SITE.glob("**/*.html")) if page.name not in NOT_PAGES and "_static" not in page.parts
    ]
    if not pages:
        sys.exit(f"nothing is built in {SITE}: uv run sphinx-build -n -W docs build/docs")
    faults: list[str] = []
    anchors: dict[str, set[str]] = {}
    links: dict[str, set[str]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        print(f"Chromium {browser.version}; {len(pages)} pages at {', '.join(map(str, WIDTHS))} px")
        for page in pages:
            for width in WIDTHS:
                wrong, found, targets = page_faults(browser, page, width)
                faults += wrong
                anchors[page.as_uri()] = set(found)
                links[page.as_uri()] = set(targets)
        browser.close()
    faults += link_faults(anchors, links)
    print(*faults, sep="\n", end="\n" if faults else "")
    report([f"{len(faults)} faults"] if faults else [])


if __name__ == "__main__":
    main()

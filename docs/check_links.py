"""Links within the built site lead to pages and anchors that exist: ``python docs/check_links.py docs/_build``."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the anchors that it offers."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Keep what a tag links to and is called."""
        attributes = dict(attributes)
        self.anchors.add(attributes.get("id") or "")
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


page = cache(Page)


def broken(path):
    """Links of a page that lead nowhere."""
    for link in page(path).links:
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if parts.scheme or parts.netloc:
            continue
        if not target.exists() or (target.suffix == ".html" and unquote(parts.fragment) not in page(target).anchors):
            yield f"{path.name}: {link}"


if __name__ == "__main__":
    pages = sorted(Path(sys.argv[1]).resolve().rglob("*.html"))
    errors = [error for path in pages for error in broken(path)]
    print("\n".join([*errors, f"{len(pages)} pages, {len(errors)} broken links"]))
    sys.exit(bool(errors) or not pages)

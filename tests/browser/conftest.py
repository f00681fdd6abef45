import shutil

import pytest

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def tab():
    """A tab of a headless chromium, or a reason to skip."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[browser]'")
    path = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(20_000)
        yield page
        browser.close()


@pytest.fixture
def opened(tab):
    """Open a page from its file; it must raise no errors and make no network requests."""
    complaints = []
    listeners = {
        "console": lambda message: complaints.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: complaints.append(f"error: {error}"),
        "dialog": lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        "request": lambda request: _note_foreign(request.url, complaints),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)

    def open_page(path, fragment="", width=1280, color_scheme="light"):
        tab.goto("about:blank")  # another fragment of the same file would not be loaded
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=color_scheme)
        tab.goto(path.as_uri() + fragment)
        tab.wait_for_selector("html[data-ready]")
        return tab

    yield open_page
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert not complaints


def _note_foreign(url, complaints):
    if not url.startswith(("file:", "data:", "about:")):
        complaints.append(f"request: {url}")

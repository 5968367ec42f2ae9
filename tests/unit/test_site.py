"""The documents as a site: it says what the documents say, leads nowhere else, and needs nothing from elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from markdown_it import MarkdownIt
from mkdocs.config import load_config
from playwright.sync_api import Browser

from scripts.site import PAGES, on_post_build, place, source_of

PATIENCE = 60_000  # ms
REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
DOCUMENTS = sorted([*(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")), *PAGES.values()])
SHAPES = {"h1", "h2", "h3", "h4", "ul", "ol", "li", "table", "tr", "th", "td", "pre", "blockquote", "img"}
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that make a browser fetch something, and where they say what."""


def build(site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site), *options]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # as in the Makefile
    return subprocess.run(command, cwd=REPOSITORY, env=environment, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once by all processes of a run together: it takes ten seconds."""
    run = tmp_path_factory.getbasetemp()
    run = run.parent if "PYTEST_XDIST_WORKER" in os.environ else run
    folder, built = run / "site", run / "site.built"
    with (run / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            done = build(folder)
            assert (done.returncode, "WARN" in done.stderr.upper()) == (0, False), done.stderr
            built.touch()
    return folder


class Outline(HTMLParser):
    """Shapes and words of a page, in their order."""

    def __init__(self, html: str, *, within: str | None = None) -> None:
        """`within`: the element that counts; None: all."""
        super().__init__()
        self.within, self.depth, self.skipped = within, 0 if within else 1, 0
        self.parts: list[str] = []
        self.fetched: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.fetched += [given.get(LOADED.get(tag, "")) or ""] if tag in LOADED else []
        self.depth += tag == self.within
        if tag == "a" and "headerlink" in (given.get("class") or ""):
            self.skipped = 1
        if self.depth and tag in SHAPES:
            self.parts.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == self.within
        self.skipped = 0 if tag == "a" else self.skipped

    def handle_data(self, data: str) -> None:
        if self.depth and not self.skipped:
            self.parts += data.split()

    @property
    def outline(self) -> list[str]:
        """Words that several elements spell belong together: `a<b>b</b>`."""
        return re.split(r"(?=<)|(?<=>)", "".join(self.parts))


def page(site: Path, document: str) -> str:
    name = re.sub(r"(^|/)README\.md$", r"\1index.md", document).removesuffix(".md")
    return (site / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.row("ST-30")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_page_says_what_its_document_says(document: str, site: Path) -> None:
    """Shapes and words are those that GitHub shows: lists, tables and code are read alike."""
    text = (REPOSITORY / source_of(document)).read_text(encoding="utf-8")
    shown = MarkdownIt("commonmark").enable("table").render(text)
    assert Outline(page(site, document), within="article").outline == Outline(shown).outline


@pytest.mark.row("ST-30")
def test_links_that_lead_nowhere_fail_the_build(tmp_path: Path) -> None:
    docs, wrong = tmp_path / "docs", ("absent.md", "../absent.py", "ports.md#absent", "/absent")
    docs.mkdir()
    (docs / "README.md").write_text("\n\n".join(f"[there]({link})" for link in wrong))
    (docs / "ports.md").write_text("# Ports\n")
    config = (REPOSITORY / "mkdocs.yml").read_text().partition("not_in_nav:")[0]
    config = config.replace("docs_dir: docs", f"docs_dir: {docs}").replace("[scripts/", f"[{REPOSITORY}/scripts/")
    (tmp_path / "mkdocs.yml").write_text(config)
    built = build(tmp_path / "site", "--config-file", str(tmp_path / "mkdocs.yml"))
    assert built.returncode == 1
    reported = [line for line in built.stderr.splitlines() if "WARNING -  Doc file 'README.md'" in line]
    assert len(reported) == len(wrong), built.stderr


@pytest.mark.row("ST-31")
def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    fetched = {each for path in site.rglob("*.html") for each in Outline(path.read_text(encoding="utf-8")).fetched}
    assert fetched
    assert sorted(each for each in fetched if each.startswith(("http:", "https:", "//"))) == []
    sheets = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert sheets
    assert [found for sheet in sheets for found in re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", sheet)] == []
    assert [path for path in site.rglob("*.html") if 'class="mermaid"' in path.read_text(encoding="utf-8")] == []


@pytest.mark.row("ST-32")
def test_the_search_knows_every_section(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"] for entry in index["docs"]}
    assert {"ports.html#grammar-of-ports", "tutorials/let-it-grow.html", "changelog.html"} <= places


class Quiet(SimpleHTTPRequestHandler):
    """Logs nothing."""

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address of the site on a server of files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.row("ST-31", "ST-32")
def test_a_reader_finds_a_page_and_no_other_server_is_asked(browser: Browser, served: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}architecture.html")
    page.fill("[data-md-component=search-query]", "ports that wait for the next pod")
    page.click(".md-search-result__item a[href*='ports.html']")
    page.wait_for_url("**/ports.html*")
    page.close()
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []


def titles(nav: Any) -> Iterator[str]:
    """The documents of a navigation, in its order."""
    for entry in nav if isinstance(nav, list) else nav.values():
        if isinstance(entry, str):
            yield entry
        else:
            yield from titles(entry)


@pytest.mark.row("ST-33")
def test_every_document_is_in_the_navigation_and_tutorials_come_before_all_that_explains() -> None:
    nav = load_config(str(REPOSITORY / "mkdocs.yml")).nav
    assert nav
    named = list(titles(nav))
    assert sorted(set(DOCUMENTS) - set(named)) == [each for each in DOCUMENTS if each.startswith("adr/0")]
    assert len(named) == len(set(named))
    assert [next(iter(section)) for section in nav][1:] == ["Tutorials", "Guides", "Reference", "Explanation"]


@pytest.mark.row("ST-33")
def test_files_that_pages_link_to_are_in_the_site(site: Path) -> None:
    for path in ("berthmaster/client.py", "deploy/iam/policy.json"):
        assert (site / place(path)).read_text() == (REPOSITORY / path).read_text()


@pytest.mark.row("ST-30")
def test_a_build_prints_where_the_site_begins(capsys: pytest.CaptureFixture[str], site: Path) -> None:
    on_post_build(load_config(str(REPOSITORY / "mkdocs.yml"), site_dir=str(site)))
    assert capsys.readouterr().out == f"the site: {site / 'index.html'}\n"
    assert (site / "index.html").exists()


@pytest.mark.row("ST-31")
def test_the_make_target_builds_strictly_and_the_program_does_not_need_it() -> None:
    assert "mkdocs build --strict" in (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    dockerfile = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    assert "docs" not in dockerfile

"""What the site of the documents has beside docs/: a hook of MkDocs, which `make docs` runs (mkdocs.yml).

Pages link to files of the repository, because people also read them beside the code. The site has a copy of each such
file, as text, so every link is checked and no link leaves the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = {"README.md": "overview.md", "CHANGELOG.md": "changelog.md"}
"""Documents outside of docs/ -> their pages."""
ROW: Final = re.compile(r"^\|.*\|$", re.MULTILINE)
CODE: Final = re.compile(r"`[^`\n]+`")
LINK: Final = re.compile(r"\]\(([^)#:\s]+)(#[^)]*)?\)")


def source_of(page: str) -> str:
    """Return the path of a page's document in the repository."""
    return next((document for document, name in PAGES.items() if name == page), f"docs/{page}")


def targets(document: str) -> Iterator[str]:
    """Yield the path in the repository of each file that a document links to, whether it exists or not."""
    for match in LINK.finditer((ROOT / document).read_text(encoding="utf-8")):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(document), match[1]))


def place(path: str) -> str:
    """Return the path in the site of a file of the repository."""
    return path.removeprefix("docs/") if path.startswith("docs/") else PAGES.get(path, f"source/{path}.txt")


def moved(text: str, page: str) -> str:
    """Return the text of a page with links that lead to files of the site."""
    document, folder = source_of(page), posixpath.dirname(page)

    def link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document), match[1]))
        return f"]({posixpath.relpath(place(path), folder or '.')}{match[2] or ''})"

    return LINK.sub(link, text)


def without_escapes(text: str) -> str:
    """Return the text without a backslash before `|` in code in tables: GitHub needs it there, and MkDocs shows it."""
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of docs/ as pages, and every file that a page links to as text."""
    for document, name in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / document)))
    documents = [source_of(file.src_uri) for file in files.documentation_pages()]
    linked = {path for document in documents for path in targets(document) if not path.startswith("docs/")}
    for path in sorted(linked - PAGES.keys()):
        if (ROOT / path).is_file():  # MkDocs reports a link without its file
            files.append(File.generated(config, place(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs gives all by name
    """Write a page so that the site shows what GitHub shows, with links to files of the site."""
    return without_escapes(moved(markdown, page.file.src_uri))


def on_post_build(config: MkDocsConfig) -> None:
    """Print where the site begins."""
    print(f"the site: {Path(config.site_dir) / 'index.html'}")

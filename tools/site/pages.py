"""A hook of MkDocs: documents of the repository that lie outside of docs/ are pages of the site too.

In the repository, pages link to them as files (../CHANGELOG.md) and they link to pages (docs/design.md); on the site
both lead to pages. What a document links to and the site does not have is shown as text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
SHOWN = {  # file of the repository -> where it lies on the site
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
}
PICTURES = {f"benchmarks/{path.name}": path for path in sorted((ROOT / "benchmarks").glob("*.[ps][nv]g"))}
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents and their pictures to the files of the site."""
    for source, place in SHOWN.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    for place, path in PICTURES.items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of one page from places in the repository to places on the site."""
    del config
    place = page.file.src_uri
    origin = next((source for source, shown in SHOWN.items() if shown == place), f"docs/{place}")
    return relinked(markdown, origin, place, {file.src_uri for file in files})


def relinked(markdown: str, origin: str, place: str, known: set[str]) -> str:
    """The text with links that hold on the site.

    Args:
        markdown: the text of a page.
        origin: where it lies in the repository.
        place: where it lies on the site.
        known: every file of the site.

    Returns:
        The text. A link out of docs/ to something that the site does not have is its words alone.

    >>> relinked("[why](docs/design.md), [how](Makefile)", "CHANGELOG.md", "changelog.md", {"design.md"})
    '[why](design.md), how'
    """

    def replaced(found: re.Match[str]) -> str:
        if re.match(r"[a-z]+:|/", found["target"]):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), found["target"]))
        inside = path.removeprefix("docs/") if path.startswith("docs/") else SHOWN.get(path, path)
        if inside not in known:  # a page that is missing inside of docs/ stays as it is, for MkDocs to complain
            return found[0] if path.startswith("docs/") else found["text"]
        target = posixpath.relpath(inside, posixpath.dirname(place) or ".")
        return f"{found['picture']}[{found['text']}]({target}{found['anchor'] or ''})"

    return LINK.sub(replaced, markdown)

# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hooks: they generate pages, and turn links of the repository into links of the site.

Pages link by paths of the repository, as GitHub shows them. On the site a link to another page stays. A link
to any other file leads to a page that shows the file. A link to the README leads to the page with that part.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from command_page import command_page
from message_page import message_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from readme import readme_table
from spec_page import spec_page

ROOT = Path(__file__).parents[2]
GENERATED = {"commands.md": command_page, "messages.md": message_page, "specs.md": spec_page}
# Files of the repository that are pages of the site, too.
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
# The pages of the distribution research/, and their folder on the site.
RESEARCH, RESEARCH_PAGES = "research/docs/", "research/"
# The README is not a page. Its parts are on these pages.
README = {"": "index.md"}
ASSETS = ("site.css", "frame-worker.js")
SOURCES = "source"

_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[^)\s]*)?(?=\))")
_TABLE = re.compile(r"^<!-- README: the table of (.+) -->$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for name, make in GENERATED.items():
        files.append(File.generated(config, name, content=make()))
    for path, name in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    for file in sorted((ROOT / RESEARCH).glob("*.md")):
        files.append(File.generated(config, RESEARCH_PAGES + file.name, abs_src_path=str(file)))
    for name in ASSETS:
        files.append(File.generated(config, f"site/{name}", abs_src_path=str(Path(__file__).with_name(name))))
    for path in sorted(_linked_sources(files)):
        page = File.generated(
            config, _source_page(path), content=_shown(path), inclusion=InclusionLevel.NOT_IN_NAV
        )
        files.append(page)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the README's tables, and turn links into links of the site."""
    del config, files
    here = page.file.src_uri
    if here.startswith(f"{SOURCES}/"):
        return markdown
    markdown = _TABLE.sub(lambda found: _to_site(readme_table(found[1]), "README.md", here), markdown)
    return _to_site(markdown, _path_of(here), here)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write the search index as a script, since pages that are opened as files may load only scripts.

    Hooks run after plugins, so the index exists. The theme looks for this name. (Its offline plugin writes
    the script, too, but loads frame-worker.js's counterpart from another machine.)
    """
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def _to_site(text: str, path: str, here: str) -> str:
    """Return the text of a repository's file with its links turned into links of the page `here`."""

    def turned(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        uri = _uri_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)), anchor)
        return posixpath.relpath(uri, posixpath.dirname(here) or ".") if uri else link[0]

    parts, start = [], 0
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(turned, text[start : code.start()]), code[0]]
        start = code.end()
    return "".join([*parts, _LINK.sub(turned, text[start:])])


def _uri_of(path: str, anchor: str) -> str | None:
    """Return the site's page for a file of the repository; None, which MkDocs reports, if it is missing."""
    if path == "README.md":
        if anchor not in README:
            raise PluginError(
                f"README.md{anchor}: the site has no such part; say in hooks.py which page it is"
            )
        return README[anchor]
    if path.startswith("docs/"):
        return path.removeprefix("docs/") + anchor
    if path.startswith(RESEARCH):
        return RESEARCH_PAGES + path.removeprefix(RESEARCH) + anchor
    if path in PAGES:
        return PAGES[path] + anchor
    return _source_page(path) if (ROOT / path).is_file() else None


def _path_of(uri: str) -> str:
    """Return the repository's path of a page. Generated pages count as files of docs/."""
    if uri.startswith(RESEARCH_PAGES):
        return RESEARCH + uri.removeprefix(RESEARCH_PAGES)
    return next((path for path, name in PAGES.items() if name == uri), f"docs/{uri}")


def _linked_sources(files: Files) -> set[str]:
    paths = {"README.md"}
    for file in files.documentation_pages():
        path = _path_of(file.src_uri)
        for target, _ in _LINK.findall(_CODE.sub("", file.content_string)):
            paths.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
    for target, _ in _LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        paths.add(target)
    pages = {"README.md", *PAGES}
    return {
        path
        for path in paths
        if not path.startswith(("docs/", RESEARCH, "..")) and path not in pages and (ROOT / path).is_file()
    }


def _source_page(path: str) -> str:
    return f"{SOURCES}/{path}.md"


def _shown(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    language = Path(path).suffix.removeprefix(".").lower() or "sh"
    return f"---\nsearch: {{exclude: true}}\n---\n# {path}\n\n````{language}\n{text}````\n"

"""What a page of HTML is made of, as a browser would read it."""

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr"}


class PageReader(HTMLParser):
    """Elements with their attributes, the text that each begins with, and tags closed out of order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.misplaced: list[str] = []
        self._inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        self._inside = True
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != self.elements[-1][0]
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.misplaced.append(tag)

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += data

    def list_values(self, *attributes: str) -> list[str]:
        """What these attributes say, of every element that has one."""
        return [have[name] or "" for _, have in self.elements for name in attributes if have.get(name)]

    def list_texts(self, tag: str, *, without_types: tuple[str, ...] = ()) -> list[str]:
        """The text of each element of this name that loads nothing and is of no such type."""
        return [
            text
            for (name, have), text in zip(self.elements, self.texts, strict=True)
            if name == tag and have.get("type") not in without_types and "src" not in have
        ]

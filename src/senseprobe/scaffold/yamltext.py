"""Adds to a list in a YAML file and leaves every other character of the file as it is."""

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode


def append(text: str, key: str, item: str) -> str | None:
    """The YAML mapping `text` with one more item in the list at its top-level `key`; None where that is no list.

    `item` is YAML, of one line or of several.

    >>> append("configs: [a, b]  # in order", "configs", "c")
    'configs: [a, b, c]  # in order'
    """
    found = _at(text, key)
    if not isinstance(found, SequenceNode):
        return None
    if not found.value:
        return _first(text, found, item)
    return _in_line(text, found, item) if found.flow_style else _below(text, found, item)


def _at(text: str, key: str) -> Node | None:
    top = YAML(typ="rt", pure=True).compose(text)
    pairs = top.value if isinstance(top, MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _first(text: str, node: SequenceNode, item: str) -> str:
    """An empty list is `[]`."""
    start, end = node.start_mark.index, node.end_mark.index
    return text[:start].rstrip(" ") + "\n" + _indented(item, 2) + text[end:]


def _in_line(text: str, node: SequenceNode, item: str) -> str | None:
    end = _end(node.value[-1])
    return None if "\n" in item.strip() else f"{text[:end]}, {item.strip()}{text[end:]}"


def _below(text: str, node: SequenceNode, item: str) -> str:
    """On a line of its own, after the last item and what is said of it in its line."""
    end = _end(node.value[-1])
    if end and text[end - 1] != "\n":
        end = text.find("\n", end) + 1 or len(text)
    before = text[:end] if text[:end].endswith("\n") else text[:end] + "\n"
    return before + _indented(item, node.start_mark.column) + "\n" + text[end:]


def _end(node: Node) -> int:
    """Where a node's text ends: a collection without brackets ends with its last item, whatever comments follow."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _indented(item: str, columns: int) -> str:
    first, *rest = item.strip("\n").split("\n")
    lines = [f"- {first}", *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(" " * columns + line if line else "" for line in lines)

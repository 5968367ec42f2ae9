"""What may become a part of a key, of a queue's name or of a path."""

from __future__ import annotations

import pytest

from berthmaster.names import is_name, is_uid


@pytest.mark.row("HO-02")
@pytest.mark.parametrize("text", ["a", "lobby-0", "game.server-1", "a" * 253, "0"])
def test_a_name_of_kubernetes_is_a_name(text: str) -> None:
    assert is_name(text)
    assert is_uid(text[:128])


@pytest.mark.row("HO-02")
@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "A",
            "Not_A_Name",
            "a/b",
            "a/b/c",
            "..",
            "../../pods",
            ".a",
            "a.",
            "-a",
            "a-",
            "a\n",
            "\na",
            "a b",
            "a:b",
        ),
        *("a%2fb", "a?b", "a#b", "a*", "é", "\ud800", "a\x00", "a" * 254, None, 7, ["a"], {"a": 1}, b"a", True),
    ],
)
def test_what_would_split_a_key_or_a_path_is_no_name(value: object) -> None:
    assert not is_name(value)


@pytest.mark.row("HO-02")
@pytest.mark.parametrize("value", ["", "a/b", "..", "a\n", "a:b", "a" * 129, None, 7])
def test_what_would_split_a_key_or_a_path_is_no_uid(value: object) -> None:
    assert not is_uid(value)

"""The checks of our own find what they are for, in small trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import exemptions, lua_headers, provider_names, raw_metadata, sizes, skeleton, style, words


def written(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return root


def function(lines: int) -> str:
    return "def grown() -> None:\n" + "    pass\n" * (lines - 1)


HEADER = "-- Takes a key.\n-- KEYS 1 the key\n-- ARGV the holder\n-- Returns 1 or 0\n"


class TestSizes:
    def test_a_file_of_300_lines_passes_and_one_of_301_does_not(self, tmp_path: Path) -> None:
        written(tmp_path, "compose/fits.py", "x = 1\n" * 300)
        assert list(sizes.offences(tmp_path)) == []
        written(tmp_path, "compose/long.py", "x = 1\n" * 301)
        assert list(sizes.offences(tmp_path)) == ["compose/long.py: 301 lines, at most 300"]

    def test_a_function_of_40_lines_passes_and_one_of_41_does_not(self, tmp_path: Path) -> None:
        written(tmp_path, "tests/fits.py", function(40))
        assert list(sizes.offences(tmp_path)) == []
        written(tmp_path, "tests/long.py", "\n" + function(41))
        assert list(sizes.offences(tmp_path)) == ["tests/long.py:2 grown: 41 lines, at most 40"]

    def test_a_copy_that_a_build_left_is_no_source(self, tmp_path: Path) -> None:
        written(tmp_path, "berthmaster/build/lib/berthmaster/long.py", "x = 1\n" * 301)
        assert list(sizes.offences(tmp_path)) == []

    def test_a_method_and_a_function_within_a_function_are_measured_too(self, tmp_path: Path) -> None:
        inner = "".join(f"    {line}\n" for line in function(41).splitlines())
        written(tmp_path, "scripts/method.py", f"class Holder:\n{inner}")
        assert list(sizes.offences(tmp_path)) == ["scripts/method.py:2 grown: 41 lines, at most 40"]

    @pytest.mark.parametrize("package", sizes.MEDIAN_TREES)
    def test_a_package_of_large_files_or_functions_is_found_by_its_median(self, tmp_path: Path, package: str) -> None:
        written(tmp_path, f"{package}/__init__.py", "")
        written(tmp_path, f"{package}/large.py", function(9) + "x = 1\n" * 92)
        assert list(sizes.offences(tmp_path)) == [
            f"{package}: median file: 101 lines, at most 100",
            f"{package}: median function: 9 lines, at most 8",
        ]


class TestLuaHeaders:
    @pytest.mark.parametrize("header", [HEADER, "--[[ Takes a key.\nKEYS a\nARGV b\nReturns c\n]]\n"])
    def test_a_script_with_a_whole_header_passes(self, tmp_path: Path, header: str) -> None:
        written(tmp_path, "events/lua/take.lua", header + "return 1\n")
        assert list(lua_headers.offences(tmp_path)) == []

    @pytest.mark.parametrize("part", ["KEYS", "ARGV", "Returns"])
    def test_a_header_without_one_of_its_parts_is_a_fault(self, tmp_path: Path, part: str) -> None:
        lacking = "".join(line for line in HEADER.splitlines(keepends=True) if part not in line)
        written(tmp_path, "workers/lua/take.lua", lacking + "return 1\n")
        assert list(lua_headers.offences(tmp_path)) == [f"workers/lua/take.lua: the header does not say {part}"]

    def test_a_script_without_a_header_lacks_everything(self, tmp_path: Path) -> None:
        written(tmp_path, "workers/lua/take.lua", "return 1 -- KEYS ARGV Returns\n")
        assert len(list(lua_headers.offences(tmp_path))) == 4

    def test_what_scripts_share_needs_a_purpose_alone(self, tmp_path: Path) -> None:
        written(tmp_path, "workers/lua/lib/twice.lua", "-- Twice a number.\nlocal function twice(n) return 2 * n end\n")
        assert list(lua_headers.offences(tmp_path)) == []
        written(tmp_path, "workers/lua/lib/twice.lua", "local function twice(n) return 2 * n end\n")
        assert list(lua_headers.offences(tmp_path)) == [
            "workers/lua/lib/twice.lua: begins with no comment that says its purpose"
        ]

    def test_a_script_may_be_long(self, tmp_path: Path) -> None:
        written(tmp_path, "workers/lua/take.lua", HEADER + "local a = 1\n" * 200)
        assert list(lua_headers.offences(tmp_path)) == []


class TestExemptions:
    @pytest.mark.parametrize(
        "comment",
        [
            "# noqa: BLE001 - a scrape reports what it can",
            "# noqa: A002, ARG001 - Celery's signature",
            "# type: ignore[misc]  # the package has no types",
            "# ruff: noqa: N818 - named by what they say",
            "# plain words about noqa",
        ],
    )
    def test_an_exemption_with_rule_and_reason_passes(self, comment: str) -> None:
        assert list(exemptions.faults_of("a.py", f"x = 1  {comment}\n")) == []

    @pytest.mark.parametrize(
        "comment", ["# noqa", "# noqa: BLE001", "# type: ignore", "# type: ignore[misc]", "# noqa - because"]
    )
    def test_an_exemption_without_rule_or_reason_is_a_fault(self, comment: str) -> None:
        assert len(list(exemptions.faults_of("a.py", f"x = 1  {comment}\n"))) == 1

    def test_complexity_has_no_exemption_whatever_the_reason(self) -> None:
        faults = list(exemptions.faults_of("a.py", "x = 1  # noqa: C901 - it is a table, really\n"))
        assert faults == ["a.py:1: complexity has no exemptions"]

    def test_words_in_a_string_exempt_nothing(self) -> None:
        assert list(exemptions.faults_of("a.py", 'x = "# noqa"\n')) == []


class TestRawMetadata:
    @pytest.mark.parametrize(
        "text", ['x = pod["metadata"]\n', 'x = pod.get("metadata") or {}\n', 'x = {"metadata": {"name": "a"}}\n']
    )
    @pytest.mark.parametrize("package", raw_metadata.TREES)
    def test_only_the_views_spell_it(self, tmp_path: Path, package: str, text: str) -> None:
        written(tmp_path, f"{package}/reader.py", text)
        (fault,) = raw_metadata.offences(tmp_path)
        assert fault.startswith(f"{package}/reader.py:1: ")

    @pytest.mark.parametrize("name", ["domain/kubernetes/objects.py", "compose/sandbox/kube/storage.py"])
    def test_the_views_and_the_api_server_may(self, tmp_path: Path, name: str) -> None:
        written(tmp_path, name, 'x = pod["metadata"]\n')
        assert list(raw_metadata.offences(tmp_path)) == []

    def test_a_message_may_name_it(self, tmp_path: Path) -> None:
        written(tmp_path, "domain/fits.py", 'x = "template.metadata is not an object"\n')
        assert list(raw_metadata.offences(tmp_path)) == []


class TestWords:
    @pytest.mark.parametrize(
        "line",
        [
            "def told() -> None: ...",
            "told_of = 1",
            "for each in (): ...",
            "class Seen: ...",
            "self.wish = 1",
            "import json as known",
            "def f(found: int) -> None: ...",
            "match 1:\n    case made: ...",
            "if (one := 1): ...",
        ],
    )
    def test_a_banned_word_is_a_fault_where_it_is_bound(self, tmp_path: Path, line: str) -> None:
        written(tmp_path, "domain/fits.py", f"{line}\n")
        (fault,) = words.offences(tmp_path)
        assert "is a banned word" in fault

    @pytest.mark.parametrize("line", ["print(told)", "found_at = 1", "is_known = True", "world_map = {}", "x = 'told'"])
    def test_a_word_that_is_only_read_or_a_part_of_another_is_none(self, tmp_path: Path, line: str) -> None:
        written(tmp_path, "domain/fits.py", f"{line}\n")
        assert list(words.offences(tmp_path)) == []

    def test_a_module_may_not_be_called_by_one(self, tmp_path: Path) -> None:
        written(tmp_path, "workers/caring.py", "x = 1\n")
        assert list(words.offences(tmp_path)) == ["workers/caring.py: the module's name is banned"]

    def test_two_classes_of_one_name_are_a_fault(self, tmp_path: Path) -> None:
        written(tmp_path, "domain/fits.py", "class Fit: ...\nclass _Own: ...\n")
        written(tmp_path, "events/fits.py", "class Fit: ...\nclass _Own: ...\n")
        (fault,) = words.offences(tmp_path)
        assert fault == "class Fit stands in domain/fits.py, events/fits.py: names of classes are unique"


def write_skeleton(root: Path) -> None:
    for name in (f"{package}/{file}" for package in skeleton.PACKAGES for file in skeleton.FILES):
        if name not in skeleton.ELSEWHERE:
            written(root, f"workers/{name}.py", "x = 1\n")


class TestSkeleton:
    def test_a_whole_skeleton_is_green(self, tmp_path: Path) -> None:
        write_skeleton(tmp_path)
        assert list(skeleton.offences(tmp_path)) == []

    def test_a_missing_file_is_a_fault(self, tmp_path: Path) -> None:
        write_skeleton(tmp_path)
        (tmp_path / "workers/claims/explain.py").unlink()
        (fault,) = skeleton.offences(tmp_path)
        assert fault.startswith("workers/claims/explain.py: a reconciler has ")

    def test_an_exception_that_is_none_any_more_is_a_fault(self, tmp_path: Path) -> None:
        write_skeleton(tmp_path)
        written(tmp_path, "workers/ports/services.py", "x = 1\n")
        (fault,) = skeleton.offences(tmp_path)
        assert "take it out of ELSEWHERE" in fault


class TestProviderNames:
    @pytest.mark.parametrize(
        "line",
        [
            "from workers.cloud.aws.settings import Rates",
            "import boto3",
            "NLB_LISTENERS = 50",
            "def aws_calls() -> int: ...",
            "class AwsSettings: ...",
            "x = settings.aws",
            "x = f(aws=1)",
            'x = "{aws:"',
            'x = "arn:aws:elb"',
        ],
    )
    def test_a_provider_is_named_by_its_package_and_the_registrations_alone(self, tmp_path: Path, line: str) -> None:
        for allowed in ("workers/cloud/aws/x.py", "workers/cloud/providers.py", "domain/port_pools/providers.py"):
            written(tmp_path, allowed, f"{line}\n")
        assert list(provider_names.offences(tmp_path)) == []
        written(tmp_path, "workers/cli/probe.py", f"{line}\n")
        faults = list(provider_names.offences(tmp_path))
        assert faults
        assert all(fault.startswith("workers/cli/probe.py:1: ") for fault in faults)

    @pytest.mark.parametrize("line", ['x = f"{error.call}: AWS"', '"""Of aws."""', "x = 1  # aws", "laws = 1"])
    def test_texts_for_people_may_name_it(self, tmp_path: Path, line: str) -> None:
        written(tmp_path, "workers/cli/probe.py", f"{line}\n")
        assert list(provider_names.offences(tmp_path)) == []


class TestTogether:
    def test_a_tree_without_faults_is_green(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_skeleton(tmp_path)
        assert style.main(tmp_path) == 0
        parts = (
            "sizes",
            "lua headers",
            "lua includes",
            "exemptions",
            "raw metadata",
            "provider names",
            "words",
            "skeleton",
        )
        assert capsys.readouterr().out == f"style: {', '.join(f'{part} ok' for part in parts)}\n"

    def test_one_fault_anywhere_is_red(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(tmp_path, "domain/fits.py", "x = 1  # noqa\n")
        assert style.main(tmp_path) == 1
        assert "domain/fits.py:1" in capsys.readouterr().out

    def test_a_file_that_is_no_python_is_red_and_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(tmp_path, "domain/broken.py", "def (:\n")
        assert style.main(tmp_path) == 1
        assert "broken.py" in capsys.readouterr().out

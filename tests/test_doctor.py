"""`traingate doctor`: each probe well and wrong, and the report."""

import json
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from traingate.commands import doctor
from traingate.doctor import evidence, stores
from traingate.doctor import github as hub
from traingate.doctor.diagnosis import State
from traingate.github import problems
from traingate.github.problems import NotThere
from traingate.report import diagnoses


class Hub:
    """Stands in for the client: answers by path."""

    def __init__(self, answers):
        self.answers = answers
        self.endpoint = type("Endpoint", (), {"repository": "contoso/training"})

    def get(self, path, **_):
        answer = self.answers.get(path)
        if answer is None:
            raise NotThere("404.", todo="Look.", status=404)
        return answer

    def pages(self, path, **_):
        yield from self.answers[path]


PULL_REQUEST = {
    "required_approving_review_count": 1,
    "require_code_owner_review": True,
    "dismiss_stale_reviews_on_push": True,
    "require_last_push_approval": True,
}
STRONG = [
    {"type": "pull_request", "parameters": PULL_REQUEST},
    {
        "type": "required_status_checks",
        "parameters": {"required_status_checks": [{"context": "check"}]},
    },
    {"type": "non_fast_forward"},
    {"type": "deletion"},
]


def only(diagnoses):
    (one,) = diagnoses
    return one


def test_a_strong_ruleset_is_well():
    found = only(hub.rules(Hub({"rules/branches/main": STRONG}), "main"))
    assert found.state is State.WELL


@pytest.mark.parametrize(
    ("without", "told"),
    [
        ("pull_request", "no approval is required"),
        ("pull_request", "code owners need not review"),
        ("pull_request", "an approval outlives a later push"),
        ("pull_request", "whoever pushed last may approve"),
        ("required_status_checks", "the check `check` is not required"),
        ("non_fast_forward", "force pushes are allowed"),
        ("deletion", "the branch may be deleted"),
    ],
)
def test_a_weak_ruleset_says_what_it_lacks(without, told):
    weak = [rule for rule in STRONG if rule["type"] != without]
    found = only(hub.rules(Hub({"rules/branches/main": weak}), "main"))
    assert found.state is State.WRONG
    assert told in found.told
    assert found.mend


def test_environments_exist_limit_their_branches_and_only_one_may_wait():
    policy = {"protected_branches": False, "custom_branch_policies": True}
    limited = {"deployment_branch_policy": policy, "protection_rules": []}
    waiting = limited | {"protection_rules": [{"type": "required_reviewers"}]}
    everybody = limited | {"deployment_branch_policy": None}

    def states(branches=("main",), **named):
        answers = {f"environments/{name.replace('_', '-')}": it for name, it in named.items()}
        listed = {"branch_policies": [{"name": branch} for branch in branches]}
        answers |= {f"{path}/deployment-branch-policies": listed for path in list(answers)}
        return [one.state for one in hub.environments(Hub(answers), "main")]

    assert states(azureml=waiting, azureml_read=limited) == [State.WELL, State.WELL]
    assert states(azureml=waiting, azureml_read=waiting) == [State.WELL, State.WRONG]
    assert states(azureml=everybody, azureml_read=limited) == [State.WRONG, State.WELL]
    assert states(azureml=limited) == [State.WELL, State.WRONG]
    every = states(branches=("main", "release/*"), azureml=limited, azureml_read=limited)
    assert every == [State.WRONG, State.WRONG]


def raising(error):
    def probe():
        raise error
        yield

    return probe


def test_where_github_does_not_answer_nothing_is_called_wrong():
    away = problems.unreachable("GET", "rules", "ConnectError")
    found = list(hub.reached({"ruleset": raising(away), "labels": raising(AssertionError())}))
    assert [one.state for one in found] == [State.SKIPPED, State.SKIPPED]
    assert all("did not answer" in one.told for one in found)


def test_a_token_that_github_does_not_know_is_one_line_to_mend():
    unknown = problems.refused("GET", "rules", 401, "Bad credentials")
    found = list(hub.reached({"ruleset": raising(unknown), "labels": raising(AssertionError())}))
    assert [one.state for one in found] == [State.WRONG, State.SKIPPED]
    assert found[0].mend == "gh auth login"


def test_what_github_refuses_is_one_line_and_the_rest_is_looked_at():
    refused = problems.refused("GET", "rules", 403, "no")
    probes = {"ruleset": raising(refused), "tokens": lambda: iter([hub.AREA.well("tokens", "ok")])}
    assert [one.state for one in hub.reached(probes)] == [State.WRONG, State.WELL]


def test_a_missing_label_comes_with_the_command_that_makes_it():
    found = list(hub.known_labels(Hub({"labels": [{"name": "traingate:done"}]})))
    assert sum(one.state is State.WELL for one in found) == 1
    wrong = [one for one in found if one.state is State.WRONG]
    assert all(one.mend.startswith("gh label create 'traingate:") for one in wrong)


def test_a_line_github_skips_is_named():
    error = {"line": 3, "kind": "Unknown owner", "path": ".github/CODEOWNERS"}
    found = only(hub.owners(Hub({"codeowners/errors": {"errors": [error]}}), "main"))
    assert found.state is State.WRONG
    assert "Line 3" in found.told


@pytest.mark.parametrize(("default", "state"), [("read", State.WELL), ("write", State.WRONG)])
def test_tokens_start_read_only(default, state):
    answers = {"actions/permissions/workflow": {"default_workflow_permissions": default}}
    assert only(hub.token_permissions(Hub(answers))).state is state


def test_what_only_an_administrator_may_read_is_skipped():
    assert only(hub.token_permissions(Hub({}))).state is State.SKIPPED


REPOSITORY = {"id": 9, "name": "training", "owner": {"login": "contoso", "id": 5}}
BY_NAME, BY_ID = "repo:contoso/training", "repo:contoso@5/training@9"


@pytest.mark.parametrize(
    ("custom", "signed", "other"),
    [
        ({"use_default": True}, BY_NAME, BY_ID),
        ({"use_default": True, "sub_claim_prefix": BY_NAME}, BY_NAME, BY_ID),
        # As it was seen: the flag says no, and the ids are signed (Azure/azure-dev#9382).
        (
            {"use_default": True, "use_immutable_subject": False, "sub_claim_prefix": BY_ID},
            BY_ID,
            BY_NAME,
        ),
    ],
)
def test_the_subject_that_github_signs_is_told_beside_the_other(custom, signed, other):
    github = Hub({"": REPOSITORY, "actions/oidc/customization/sub": custom})
    told = only(hub.subject(github)).told
    assert told.startswith(f"GitHub signs {signed}:environment:azureml;")
    assert f"{other}:environment:azureml" in told
    assert hub.subjects(github) == hub.Subjects(signed=signed, other=other)


def test_a_customised_subject_is_wrong_and_no_credential_is_compared_with_it():
    custom = {"use_default": False, "include_claim_keys": ["repo", "ref"]}
    github = Hub({"": REPOSITORY, "actions/oidc/customization/sub": custom})
    found = only(hub.subject(github))
    assert found.state is State.WRONG
    assert "repo, ref" in found.told
    assert hub.subjects(github) is None


@pytest.fixture
def github_api(repository, monkeypatch):
    """GitHub on loopback, for a repository that has a remote; paths to bodies."""
    answers = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = answers.get(self.path.removeprefix("/repos/contoso/training").lstrip("/"))
            self.send_response(404 if found is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(found or {"message": "Not Found"}).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GITHUB_TOKEN", "planted")
    monkeypatch.setenv("GITHUB_REPOSITORY", "contoso/training")
    yield answers
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_command_asks_github_which_subjects_to_look_for(repository, github_api):
    sub = "actions/oidc/customization/sub"
    assert "GitHub did not say" in doctor._subjects(repository.path, ())
    github_api |= {"": REPOSITORY, sub: {"use_default": True}}
    assert doctor._subjects(repository.path, ()) == hub.Subjects(signed=BY_NAME, other=BY_ID)
    github_api[sub] = {"use_default": False}
    assert "customised" in doctor._subjects(repository.path, ())


def test_the_command_asks_github_no_second_time_where_it_did_not_answer(repository):
    gone = hub.AREA.wrong("subject", "It does not answer.", "Look.")
    assert "It does not answer." in doctor._subjects(repository.path, (gone,))
    assert "no GitHub remote" in doctor._subjects(repository.path, ())


@pytest.fixture
def tracking_server():
    """A server that answers /version with what its list holds."""
    version = ["3.17.2"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(version[0].encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", version
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_tracking_servers_version_must_be_one_we_speak_to(tracking_server):
    location, version = tracking_server
    assert only(stores.tracking(location)).state is State.WELL
    version[0] = "2.9.0"
    found = only(stores.tracking(location))
    assert found.state is State.WRONG
    assert "2.9.0" in found.told


def test_a_server_that_is_away_is_wrong_and_its_password_is_not_shown():
    found = only(stores.tracking("http://user:s3cret@127.0.0.1:9"))
    assert found.state is State.WRONG
    assert "s3cret" not in found.told


def test_a_location_in_a_vault_is_for_the_job_to_resolve():
    assert only(stores.tracking("keyvault://v/s")).state is State.SKIPPED
    assert only(stores.results("keyvault://v/s")).state is State.SKIPPED


def test_a_database_that_is_away_is_wrong_and_its_password_is_not_shown():
    found = only(stores.results("postgresql+psycopg://u:s3cret@127.0.0.1:9/results"))
    assert found.state is State.WRONG
    assert "s3cret" not in found.told


def test_the_report_says_what_to_mend_and_fails(repository, traingate, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    repository.request("print('training')\n")

    result = traingate("doctor")

    assert result.exit_code == 1
    assert "MEND  repository: CODEOWNERS: There is none." in result.output
    assert "ok    repository: request probe: The gate takes it." in result.output
    assert "skip  github: everything" in result.output
    assert result.output.splitlines()[-1].endswith("skipped")


def test_github_alone(repository, traingate, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    result = traingate("doctor", "--github")
    assert result.output.splitlines()[0].startswith("skip  github: everything")
    assert "repository:" not in result.output


def test_json_is_for_programs(repository, traingate):
    told = json.loads(traingate("doctor", "--json").output)
    assert told["version"] == 1
    assert {"area", "subject", "state", "told", "mend"} == set(told["diagnoses"][0])


def evidence_text(**metrics):
    outcome = {"run_name": "w-0-l1", "mlflow_run_id": "r1", "metrics": metrics}
    return json.dumps({"version": 1, "evidence": {}, "outcome": outcome})


def test_evidence_is_compared_with_the_store_it_was_measured_into(tmp_path):
    database = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE latest_metrics (run_uuid, key, value)")
        connection.execute("INSERT INTO latest_metrics VALUES ('r1', 'step_seconds', 0.5)")
        connection.commit()
    uri = f"sqlite:///{database}"

    same = only(evidence.compared("w", evidence_text(step_seconds=0.5), uri))
    other = only(evidence.compared("w", evidence_text(step_seconds=0.1), uri))
    gone = only(evidence.compared("w", evidence_text(), f"sqlite:///{tmp_path}/none.db"))

    assert [same.state, other.state, gone.state] == [State.WELL, State.WRONG, State.WRONG]
    assert "0.1" in other.told
    assert "0.5" in other.told


def test_evidence_that_was_never_measured_says_what_to_run(repository, traingate):
    result = traingate("doctor", "--evidence", "probe")
    assert result.exit_code == 1
    assert "traingate measure probe" in result.output


def test_azure_is_skipped_where_the_backend_is_local(repository, traingate):
    assert "skip  azure: everything: The platform's backend is local." in (
        traingate("doctor").output
    )


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://ada:hunter2@db.example/results",
        "postgresql://ada:hun/hunter2@db.example/results",
        "postgresql://ada:hun@hunter2@db.example/results",
        "postgresql://db.example/results?user=ada&password=hunter2",
        "https://ada:hun?hunter2@mlflow.example",
    ],
)
def test_a_location_is_shown_without_its_password(location):
    shown = stores.without_password(location)
    assert "hunter2" not in shown
    assert ".example" in shown


def test_a_location_that_is_no_address_is_a_line_without_its_password():
    for probe in (stores.tracking, stores.results):
        scheme = "http" if probe is stores.tracking else "postgresql"
        found = only(probe(f"{scheme}://ada:hun/hunter2@127.0.0.1:x/results"))
        assert found.state is State.WRONG
        assert "hunter2" not in found.told


def test_the_report_obeys_nothing_that_a_server_says():
    found = [stores.AREA.wrong("image \x1b]x", "runs MLflow \x1b[2J\n9", "Mend\r it.")]
    assert not set("\x1b\r") & set("\n".join(diagnoses.lines(found)))
    assert len(list(diagnoses.lines(found))) == 3

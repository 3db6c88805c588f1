"""
`/metrics`: the site's metrics, as Prometheus reads them.

Who may read them: with the setting `metrics_token`, who sends it as a bearer token, from wherever. Without it, who is
on the machine itself; and not if a proxy has passed the request on, or a public address is set, because then everybody
seems to be on the machine. To anyone else there is nothing here.
"""

import hmac
from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from app.errors import NotFound
from app.metrics import REGISTRY, beginnings, sample_key, sample_of
from app.services import metrics as service_metrics
from app.services.metrics import Snapshot
from app.web.http.site import Site, SiteOfRequest
from graders.report import Verdict

router = APIRouter(include_in_schema=False)

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PASSED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_PHASE = "kelolo_grading_phase_seconds"
_PHASES = {"queued": "in the queue", "run": "of running", "judge": "of judging"}
_SAID = {
    "kelolo_grader_faults_total": "tries that failed by our fault",
    "kelolo_warm_process_restarts_total": "warm processes replaced",
    "kelolo_quota_denials_total": "refused by a limit",
    "kelolo_tutor_answers_total": "tutor",
}
_MS = 1000
_ENDINGS = ("_total", "_bucket", "_sum", "_count")


@router.get("/metrics")
def metrics(request: Request, site: SiteOfRequest) -> Response:
    """Return the metrics of the whole site. Raises: NotFound."""
    if not _may_read(request, site):
        raise NotFound(what="page", name="metrics")
    site.write_metrics()
    with site.database.read() as session:
        now = service_metrics.snapshot(session, site.queue)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_ReadyMetrics([*_counted(beginnings() | now.totals), *_known(now)]))
    return Response(generate_latest(registry), headers={"Content-Type": _TYPE, "Cache-Control": "no-store"})


def in_words(now: Snapshot) -> list[tuple[str, str]]:
    """Return the same metrics as an administrator's page shows them: what is counted, and how much that is."""
    lines = [("longest wait", _seconds(now.oldest_s))]
    lines += [
        (f"verdicts: {verdict.replace('_', ' ')}", str(number)) for verdict, number in sorted(now.verdicts.items())
    ]
    for phase in ("queued", "run", "judge"):
        number, total = (
            now.totals.get(sample_key(f"{_PHASE}_{end}", {"phase": phase}), 0.0) for end in ("count", "sum")
        )
        if number:
            lines.append((f"mean time {_PHASES[phase]}", _seconds(total / number)))
    for name, said in _SAID.items():
        every = [(sample_of(key)[1], value) for key, value in sorted(now.totals.items()) if sample_of(key)[0] == name]
        lines += [(": ".join([said, *labels.values()]).replace("_", " "), f"{value:.0f}") for labels, value in every]
    return lines


class _ReadyMetrics:
    """Metrics that are ready, as prometheus_client wants to be handed them."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _may_read(request: Request, site: Site) -> bool:
    token = site.settings.metrics_token
    if token is not None:
        given = request.headers.get("authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {token.get_secret_value()}".encode())
    if site.settings.public_url or any(name in request.headers for name in _PASSED_ON):
        return False
    return request.client is not None and _is_loopback(request.client.host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _counted(totals: dict[str, float]) -> Iterator[Metric]:
    """Return what processes have counted: the definitions are this process's, the numbers everyone's."""
    metrics = {one.name: Metric(one.name, one.documentation, one.type) for one in REGISTRY.collect()}
    for key, value in sorted(totals.items()):
        name, labels = sample_of(key)
        family = next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)
        if family in metrics:  # else: counted by a version that is no more
            metrics[family].add_sample(name, labels, value)
    return iter(metrics.values())


def _known(now: Snapshot) -> Iterator[Metric]:
    """Return what was counted in the database at this moment."""
    yield GaugeMetricFamily("kelolo_queue_waiting", "Live submissions that wait for a worker.", now.waiting)
    yield GaugeMetricFamily("kelolo_queue_oldest_seconds", "How long the oldest job has waited.", now.oldest_s)
    yield GaugeMetricFamily("kelolo_workers", "Workers that were there in the last minute.", now.workers)
    yield GaugeMetricFamily("kelolo_slots", "How many submissions they can grade at once.", now.slots)
    missing = sum(one["state"] == "missing" for one in now.walls)
    yield GaugeMetricFamily(
        "kelolo_sandbox_layers_missing", "Sandbox layers around students' code that do not hold.", missing
    )
    verdicts = CounterMetricFamily("kelolo_verdicts", "Recorded runs by verdict.", labels=["verdict"])
    for verdict, number in sorted((dict.fromkeys(Verdict, 0) | now.verdicts).items()):
        verdicts.add_metric([verdict], number)
    yield verdicts


def _seconds(seconds: float) -> str:
    return f"{seconds * _MS:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"

# Kelolo in a container: one image, for the web server, for workers and for migrations.
#
# Built in two stages, so that what is only needed to install does not stay. It runs as an ordinary user, with a root
# file system that may be read-only, and writes to /data and /tmp alone. No secret is in it: settings come from the
# environment or from /run/secrets. docs/operations.md says how it was tried.

# Bookworm by name: its libpq and pg_dump are of the version that docker-compose.yml runs the database with.
FROM python:3.11-slim-bookworm AS build
# For pg_dump and pg_restore, which `kelolo backup` and `kelolo restore` call. The package itself would bring Perl along.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client-15
WORKDIR /kelolo
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python3 -m venv .venv
# First what changes seldom: these layers are built anew only when the pinned versions change. Torch by itself, so
# that the index of CPU builds is asked for nothing else.
COPY requirements-torch.txt requirements.txt ./
RUN .venv/bin/python -m pip install --no-deps --requirement requirements-torch.txt
RUN .venv/bin/python -m pip install --requirement requirements.txt
# Headers and libraries to compile against, and pip: nothing is compiled or installed later.
RUN rm -rf .venv/lib/python3*/site-packages/torch/include .venv/lib/python3*/site-packages/torch/share \
    && find .venv -name '*.a' -delete
COPY pyproject.toml ./
COPY app app
COPY graders graders
COPY migrations migrations
COPY templates templates
COPY static static
COPY exercises exercises
COPY docker/healthcheck.py docker/healthcheck.py
RUN .venv/bin/python -m pip install --no-deps --no-build-isolation --no-index --editable . \
    && .venv/bin/python -m pip uninstall --yes pip
# Now, because at run time nothing may be written here.
RUN .venv/bin/python -m compileall -q app graders migrations

FROM python:3.11-slim-bookworm
# libseccomp: the wall of allowed system calls. bubblewrap: namespaces, used where the machine allows them. libpq: for
# the two programs below.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libseccomp2 bubblewrap libpq5 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /nonexistent --shell /usr/sbin/nologin kelolo \
    && install --directory --mode=0711 --owner=kelolo --group=kelolo /data
COPY --from=build /usr/lib/postgresql/15/bin/pg_dump /usr/lib/postgresql/15/bin/pg_restore /usr/local/bin/
COPY --from=build /kelolo /kelolo
WORKDIR /kelolo
ENV PATH=/kelolo/.venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    PYTHONDONTWRITEBYTECODE=1 \
    KELOLO_DATA=/data \
    KELOLO_HOST=0.0.0.0
USER 10001:10001
VOLUME /data
EXPOSE 8000
# Importing torch takes some seconds on a slow machine, and `serve` then tries the walls.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 CMD ["python3", "docker/healthcheck.py", "web"]
CMD ["kelolo", "serve"]

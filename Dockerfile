# One image for every process; the arguments select it: publisher, worker (the default), beat or flower.
#
#   docker build -t berthmaster:0.1.0 .
#   docker build -t berthmaster:0.1.0 --build-arg EXTRAS=tracing .           # with OpenTelemetry
#   docker build -t berthmaster-sandbox:0.1.0 --build-arg EXTRAS=sandbox .   # with the sandbox's simulated AWS
#
# It writes only to /tmp, so a read-only root with a tmpfs there is enough.
ARG PYTHON=3.13.7-slim-bookworm

FROM python:${PYTHON} AS build
ARG EXTRAS=flower
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
# The environment has no pip: nobody installs packages in a running container.
RUN ["python", "-m", "venv", "--without-pip", "/opt/berthmaster"]
# The user and group have names: Celery mistakes a nameless group for root's and warns.
RUN echo "berthmaster:x:10001:10001::/tmp:/usr/sbin/nologin" >>/etc/passwd && echo "berthmaster:x:10001:" >>/etc/group
# Every distribution in the version, and with the files, that scripts/lock.sh has written down.
COPY deploy/image/build.txt deploy/image/${EXTRAS}.txt locked/
RUN pip install --require-hashes -r locked/build.txt \
 && pip --python /opt/berthmaster/bin/python install --require-hashes -r "locked/${EXTRAS}.txt"
COPY pyproject.toml README.md LICENSE ./
COPY berthmaster berthmaster
COPY domain domain
COPY events events
COPY workers workers
COPY compose compose
# Ours: nothing is looked up, as everything that it needs is there.
RUN pip wheel --no-deps --no-build-isolation --wheel-dir wheels ./berthmaster . \
 && pip --python /opt/berthmaster/bin/python install --no-deps --no-index wheels/*.whl

FROM python:${PYTHON} AS runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berthmaster" \
      org.opencontainers.image.description="Load-balancer ports, slots and claims for Kubernetes pods" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /etc/passwd /etc/group /etc/
COPY --from=build /opt/berthmaster /opt/berthmaster
ENV PATH=/opt/berthmaster/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The user is a number, so that Kubernetes can check that it is not root.
USER 10001:10001
WORKDIR /tmp
# Publisher (probes and metrics), workers (metrics), Flower.
EXPOSE 8081 9090 5555
# The check of the default command. For another command use `berthmaster healthcheck publisher`, `beat` or `flower`.
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s --retries=3 \
    CMD ["berthmaster", "healthcheck", "worker"]
ENTRYPOINT ["berthmaster"]
CMD ["worker"]

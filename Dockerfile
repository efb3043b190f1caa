# The admission webhook. Any builder of OCI images will do; `make image` uses buildah, as the tests do.
#
#   make image BASE=docker.io/library/python:3.13-slim-bookworm@sha256:…
#
# BASE is Debian with Python 3.11 or newer and its venv module, by digest: a tag is another image tomorrow. It has no
# default: a digest that is written down here would keep the flaws of its day.
# A mirror of the package index is given as pip knows it: PIP_INDEX_URL, or PIP_NO_INDEX=1 with PIP_FIND_LINKS.
ARG BASE

FROM ${BASE} AS dependencies
ARG BASE
RUN case "$BASE" in *@sha256:*) ;; *) echo "BASE=$BASE: name it by digest: NAME@sha256:…" >&2; exit 1;; esac
ARG PIP_INDEX_URL
ARG PIP_NO_INDEX
ARG PIP_FIND_LINKS
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ONLY_BINARY=:all: PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements/image-build.txt requirements/image.txt requirements/
# Wheels alone, each held to its hash: nothing is compiled. Bytecode is made of all but the client's models, 35 MB of it,
# which are never imported; it is never checked against times, which differ from build to build.
# The lock leaves out what nothing here imports, so no dependency is resolved: aiohttp and its own are of kubernetes.aio.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/qos-webhook \
 && /build/bin/pip install --quiet --require-hashes -r requirements/image-build.txt \
 && /build/bin/pip --python /opt/qos-webhook/bin/python3 install --quiet --no-compile --no-deps --require-hashes -r requirements/image.txt \
 && rm -r /opt/qos-webhook/lib/python3*/site-packages/kubernetes/aio \
 && rm /opt/qos-webhook/bin/[Aa]ctivate* \
 && python3 -m compileall -q --invalidation-mode unchecked-hash -x 'kubernetes/client/(api|models)/[a-z]' /opt/qos-webhook/lib
# What is in the image: Python's packages, and Debian's, which are those of the base; held against CycloneDX's schema
# before it is written.
ARG VERSION=0.1.0
COPY pyproject.toml release/bill.py .
RUN sed "s/^dynamic = .*/version = \"$VERSION\"/" pyproject.toml > /tmp/pyproject.toml \
 && /build/bin/cyclonedx-py environment --validate --output-reproducible --mc-type application --pyproject /tmp/pyproject.toml \
      --output-file /tmp/python.cdx.json /opt/qos-webhook/bin/python3 \
 && /build/bin/python bill.py /tmp/python.cdx.json > /opt/qos-webhook/sbom.cdx.json

FROM dependencies AS build
COPY . .
# Without its dependencies: numpy, for where pods fit, and protobuf, for large lists, are the plugin's alone; the former is
# as big as all others but one.
RUN /build/bin/pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir /dist . \
 && /build/bin/pip --python /opt/qos-webhook/bin/python3 install --quiet --no-compile --no-deps --no-index /dist/*.whl \
 && cd /opt/qos-webhook/lib/python3*/site-packages \
 && python3 -m compileall -q --invalidation-mode unchecked-hash kubectl_plugin cluster_io podrules webhook

# What the base has beside Python, and nobody needs here: installers, documentation, programs that run as their owner.
FROM ${BASE} AS stripped
RUN library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))') \
 && rm -rf "$library/ensurepip" "$library/idlelib" "$library/lib2to3" "$library/test" "$library/turtledemo" \
      "$library/site-packages/pip" "$library"/site-packages/pip-*.dist-info /usr/local/bin/pip* /usr/bin/pip* \
      /usr/share/python-wheels /usr/share/doc /usr/share/info /usr/share/locale /usr/share/man \
      /var/cache/* /var/lib/apt/lists/* /var/log/* /tmp/* /root/.cache \
 && find / -xdev -type f -perm /6000 -exec chmod ug-s {} + \
 && python3 -m compileall -q --invalidation-mode unchecked-hash "$library"

FROM stripped AS root
COPY --from=build /opt/qos-webhook /opt/qos-webhook

# One layer, so that what was removed is in none.
FROM scratch
ARG BASE
ARG VERSION=0.1.0
ARG REVISION
LABEL org.opencontainers.image.title="qos-webhook" \
      org.opencontainers.image.description="The admission webhook of kubectl qos" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"
COPY --from=root / /
ENV PATH=/opt/qos-webhook/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# Any other number will do as well, also one that nobody knows: nothing belongs to it. Only /tmp is written to.
USER 65532:65532
WORKDIR /
# As the chart starts it.
EXPOSE 10250 9090
ENTRYPOINT ["qos-webhook"]

# parity with the compilers for AMD and CUDA, for machines without a GPU:
#   docker build -t parity . && docker run --rm -v "$PWD:/work" parity run
FROM python:3.13.5-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/parity && /opt/parity/bin/python -m pip install --no-cache-dir '.[emulated,nvcc]'

FROM python:3.13.5-slim-bookworm
COPY --from=build /opt/parity /opt/parity
RUN useradd --create-home --uid 1000 parity
USER 1000
ENV PATH=/opt/parity/bin:$PATH
WORKDIR /work
ENTRYPOINT ["parity"]

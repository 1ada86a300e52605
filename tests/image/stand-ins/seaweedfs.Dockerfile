# The S3 server moto in place of the image chrislusf/seaweedfs: the same port, bucket and health check. The server keeps
# all objects in memory and accepts any credentials.
FROM debian:bookworm-slim
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv wget && python3 -m venv /venv
# The machine may trust an authority that Debian does not know.
RUN --mount=type=secret,id=certificates PIP_CERT=/run/secrets/certificates /venv/bin/pip install --quiet "moto[server]==5.2.1"
COPY --chmod=755 seaweedfs-entrypoint /entrypoint.sh
VOLUME /data
ENTRYPOINT ["/entrypoint.sh"]

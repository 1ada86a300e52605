# The container image of the service. Build it with: docker build -t halfspace .
#
# Two stages build the dependencies and the tools, so that a change of the source does not rebuild them. Another stage
# builds the program. The last stage runs the program without compiler or source.

# scripts/pin-images adds the digests of these images.
ARG RUST_IMAGE=rust:1.95-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

# The manifests without the benchmarks. Later stages depend on the content of this stage, so a new benchmark does not
# rebuild the dependencies.
FROM ${RUST_IMAGE} AS manifests
WORKDIR /manifests
COPY Cargo.toml Cargo.lock ./
COPY crates/halfspace-core/Cargo.toml crates/halfspace-core/
COPY crates/halfspace-formats/Cargo.toml crates/halfspace-formats/
COPY crates/halfspace-programs/Cargo.toml crates/halfspace-programs/
COPY crates/halfspace-verify/Cargo.toml crates/halfspace-verify/
RUN sed -i '/^\[\[bench\]\]/,/^$/d' Cargo.toml

# cargo-auditable writes the list of dependencies into the program, and auditable2cdx reads the list. Both tools run for
# seconds, so they are not optimised.
FROM ${RUST_IMAGE} AS tools
RUN cargo install --quiet --debug --locked --root /tools cargo-auditable@0.7.7 \
    && cargo install --quiet --debug --locked --root /tools auditable2cdx@0.1.0

FROM ${RUST_IMAGE} AS dependencies
WORKDIR /build
# The C code of the allocator contains the time of its compilation. This variable fixes the time.
ENV SOURCE_DATE_EPOCH=0
# The build uses the toolchain of the image. rust-toolchain.toml would fetch another toolchain, so it is
# not copied here.
COPY --from=manifests /manifests ./
RUN for crate in . crates/*; do mkdir "$crate/src" && touch "$crate/src/lib.rs"; done \
    && echo 'fn main() {}' > src/main.rs \
    && cargo build --release --locked --bin halfspace

FROM dependencies AS program
COPY --from=tools /tools/bin /usr/local/bin
COPY . .
COPY --from=manifests /manifests ./
# The git revision of the sources, because the builder has no checkout: --build-arg SOURCE_REVISION=...
ARG SOURCE_REVISION=""
# Cargo compares modification times. Those of a checkout may be older than the empty build above.
RUN touch src/lib.rs src/main.rs crates/*/src/lib.rs \
    && cargo auditable build --release --locked --bin halfspace \
    && auditable2cdx target/release/halfspace > halfspace.cdx.json

# The files of the image: the program, the few programs that docker-compose.yml runs, and the libraries of all these.
FROM ${BASE_IMAGE} AS files
COPY --from=program /build/target/release/halfspace /image/usr/local/bin/halfspace
# Certificate authorities for callbacks over https.
COPY --from=program /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/
COPY --from=program /build/LICENSE-MIT /build/LICENSE-APACHE /build/halfspace.cdx.json /image/usr/share/doc/halfspace/
# The time of every file, in seconds since 1970. scripts/release passes the time of the commit, so that two builds give
# the same bytes.
ARG SOURCE_DATE_EPOCH=0
# A new volume inherits the owner and the mode of its directory. OpenShift runs the container under any user of the
# group 0. /backups is the target of copies: see docker-compose.yml.
RUN set -eu; cd /image; mkdir -p usr/bin usr/lib usr/lib64 usr/sbin proc sys dev; \
    for link in bin sbin lib lib64; do if [ -L "/$link" ]; then cp -a "/$link" .; fi; done; \
    for name in sh cat cp ls touch true; do cp -L "/usr/bin/$name" usr/bin/; done; \
    ldd usr/local/bin/halfspace usr/bin/* | grep -o '/lib[^ ]*' | grep -v ':$' | sort -u \
        | while read -r library; do cp -L --parents "$library" /image/; done; \
    cp /etc/passwd /etc/group /etc/nsswitch.conf etc/; \
    install -d -m 1777 tmp; \
    install -d -o 65532 -g 0 -m 0770 data backups; \
    find . -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

FROM scratch AS image
ARG SOURCE_REVISION=""
# A test compares this version with that of Cargo.toml.
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="halfspace" \
      org.opencontainers.image.description="Learning as a service: learners of Boolean half-spaces as durable jobs over HTTP" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$SOURCE_REVISION"
COPY --from=files /image /
# A numeric user lets an orchestrator verify that the user is not root.
USER 65532:65532
# SQLite needs a folder for temporary files. A read-only root has no other.
ENV PATH=/usr/local/bin:/usr/bin:/bin \
    HALFSPACE_LISTEN=0.0.0.0:8080 \
    HALFSPACE_DATA_DIR=/data \
    SQLITE_TMPDIR=/data
VOLUME /data
EXPOSE 8080
# The program handles this signal, also as process 1, and returns running jobs to the queue.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
    CMD ["halfspace", "healthcheck"]
ENTRYPOINT ["halfspace"]
CMD ["serve"]

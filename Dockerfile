# The container image of the service. Build it with: docker build -t halfspace .
#
# The image has three stages. The first builds only the dependencies, so that a change of the source does
# not rebuild them. The second builds the program. The third runs the program without compiler or source.

FROM rust:1.95-bookworm AS dependencies
WORKDIR /build
# The build uses the toolchain of the image. rust-toolchain.toml would fetch another toolchain, so it is
# not copied here.
COPY Cargo.toml Cargo.lock ./
COPY crates/halfspace-core/Cargo.toml crates/halfspace-core/
COPY crates/halfspace-formats/Cargo.toml crates/halfspace-formats/
COPY crates/halfspace-verify/Cargo.toml crates/halfspace-verify/
# Cargo requires every file that a manifest names. Empty files keep this layer valid when a source changes.
RUN mkdir benches src crates/halfspace-core/src crates/halfspace-formats/src crates/halfspace-verify/src \
    && sed -n '/^\[\[bench\]\]/{n;s/name = "\(.*\)"/benches\/\1.rs/p}' Cargo.toml | xargs touch \
    && echo 'fn main() {}' > src/main.rs \
    && touch src/lib.rs crates/halfspace-core/src/lib.rs crates/halfspace-formats/src/lib.rs \
        crates/halfspace-verify/src/lib.rs \
    && cargo build --release --locked --bin halfspace \
    && rm -r src crates

FROM dependencies AS program
COPY . .
# The git revision of the sources, because the builder has no checkout: --build-arg SOURCE_REVISION=...
ARG SOURCE_REVISION=""
# Cargo compares modification times. Those of a checkout may be older than the empty build above.
RUN touch src/lib.rs src/main.rs crates/*/src/lib.rs \
    && cargo build --release --locked --bin halfspace

FROM debian:bookworm-slim
ARG SOURCE_REVISION=""
LABEL org.opencontainers.image.title="halfspace" \
      org.opencontainers.image.description="Learning as a service: learners of Boolean half-spaces as durable jobs over HTTP" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.revision="$SOURCE_REVISION"
COPY --from=program /build/target/release/halfspace /usr/local/bin/halfspace
# Certificate authorities for callbacks over https. The slim image has none.
COPY --from=program /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=program /build/LICENSE-MIT /build/LICENSE-APACHE /usr/share/doc/halfspace/
# A numeric user lets an orchestrator verify that the user is not root. A new volume inherits the owner
# and the mode of this directory.
RUN install -d -o 65532 -g 65532 -m 0700 /data
USER 65532:65532
ENV HALFSPACE_LISTEN=0.0.0.0:8080 \
    HALFSPACE_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
# The program handles this signal, also as process 1, and returns running jobs to the queue.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
    CMD ["halfspace", "healthcheck"]
ENTRYPOINT ["halfspace"]
CMD ["serve"]

# rclone of Debian in place of the image rclone/rclone.
FROM debian:bookworm-slim
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends rclone
ENTRYPOINT ["rclone"]

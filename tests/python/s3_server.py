"""An S3 server for tests. It prints its address and serves until standard input closes."""

import logging
import os
import sys
import urllib.request

# The Amazon settings of the machine must not affect the server.
for name in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[name]
# Objects larger than this number of bytes go to files.
os.environ.setdefault("MOTO_S3_DEFAULT_KEY_BUFFER_SIZE", "1048576")

from moto.server import ThreadedMotoServer  # noqa: E402

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
address = "http://%s:%d" % server.get_host_and_port()
urllib.request.urlopen(urllib.request.Request(f"{address}/halfspace", method="PUT")).read()
print(address, flush=True)
sys.stdin.read()

#!/bin/sh
# Ready: the workspace of this container is open, so that agents can connect. One that is not ready yet needs no restart.
set -eu
RELAY_PROJECT="${WORKSPACE_NAME:-default}" agent-relay status --json > /dev/null

#!/bin/sh
# Healthy: the daemon answers, and the workspace of this container is open in it.
set -eu
RELAY_PROJECT="${WORKSPACE_NAME:-default}" agent-relay status --json > /dev/null

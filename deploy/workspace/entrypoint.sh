#!/bin/sh
# Names the workspace at run time, by WORKSPACE_NAME, and starts its relay: in the foreground, or beside the command that is given.
set -eu
RELAY_PROJECT="${WORKSPACE_NAME:-default}"
export RELAY_PROJECT
if [ "$#" -eq 0 ]; then
  exec agent-relay up
fi
agent-relay daemon start --quiet
exec "$@"

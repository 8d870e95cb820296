#!/bin/sh
# Names the workspace at run time, by WORKSPACE_NAME, and starts its relay: in the foreground, or beside the command that is given.
# --page-url URL as the first argument: where a browser outside the container reaches port 8101. The port is then served to the outside, by the key.
set -eu
RELAY_PROJECT="${WORKSPACE_NAME:-default}"
export RELAY_PROJECT
page=''
if [ "${1:-}" = --page-url ]; then
  page="${2:?--page-url needs an address, such as http://localhost:8101}"
  shift 2
fi
if [ "$#" -eq 0 ]; then
  exec agent-relay up ${page:+--host 0.0.0.0 --allow-remote --page-url "$page"}
fi
agent-relay daemon start --quiet ${page:+--host 0.0.0.0 --allow-remote --page-url "$page"}
[ -z "$page" ] || agent-relay dashboard --no-open
exec "$@"

#!/bin/sh
# Starts a lift from a checkout: installs and builds first what is missing, then runs `agent-relay lift` with these arguments, in this directory.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if ! command -v node >/dev/null; then
  echo 'Agent Relay needs Node 20.19 or newer: https://nodejs.org' >&2
  exit 78
fi
# The lines that it prints can be typed in any directory.
RELAY_LIFT_COMMAND="$root/tools/relay/start.sh"
export RELAY_LIFT_COMMAND
exec node "$root/scripts/setup.mjs" --quiet-when-fresh --then packages/relay/bin/agent-relay.cjs lift "$@"

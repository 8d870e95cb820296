#!/bin/sh
# What the Claude Code plugin starts: the launcher that the relay keeps in its data directory. Nothing is fetched or looked up by name.
set -u
case "${XDG_DATA_HOME:-}" in
  /*) data="$XDG_DATA_HOME/agent-relay" ;;
  *) data="$HOME/.local/share/agent-relay" ;;
esac
[ "$(uname)" = Darwin ] && data="$HOME/Library/Application Support/agent-relay"
launcher="${RELAY_DATA_DIR:-$data}/bin/agent-relay-mcp"
[ -x "$launcher" ] && exec "$launcher" serve "$@"
echo "ERROR: $launcher is missing: Agent Relay has not run on this machine yet." >&2
echo "Start it once: npm start in its checkout, or agent-relay up where it is installed." >&2
exit 78

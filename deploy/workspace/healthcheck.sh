#!/bin/sh
# Healthy: the daemon answers. One that does not should be started again.
set -eu
agent-relay daemon status --json > /dev/null

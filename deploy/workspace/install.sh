#!/bin/sh
# install.sh ARCHIVES PREFIX: installs the archive of Agent Relay that `npm run pack` made. All it needs is in it: nothing is fetched or run.
set -eu
npm install -g --silent --prefix "$2" --ignore-scripts --no-audit --no-fund "$1"/agent-relay-[0-9]*.tgz

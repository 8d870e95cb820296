#!/bin/sh
# install.sh PACKAGES PREFIX: installs the packed packages together, without running any of their scripts.
set -eu
npm install --silent --prefix "$2" --omit=dev --ignore-scripts --prefer-offline --no-audit --no-fund "$1"/*.tgz

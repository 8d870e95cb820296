#!/bin/sh
# pack.sh OUT: builds the checkout and packs its packages into OUT.
set -eu
cd "$(dirname "$0")/../.."
node scripts/setup.mjs --quiet-when-fresh
mkdir -p "$1"
npm pack --silent --pack-destination "$1" -w packages/sdk -w packages/mcp -w packages/relay

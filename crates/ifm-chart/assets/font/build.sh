#!/bin/sh
# Subsets Inter again to the fonts in this folder, with the versions pinned below. Needs
# Node.js, npm and Python 3 with venv.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init --yes >/dev/null
npm install --silent --no-save inter-ui@4.1.1
python3 -m venv venv
venv/bin/pip --quiet install fonttools==4.68.0 brotli==1.2.1
venv/bin/python "$here/subset.py" node_modules/inter-ui/web "$here"
cp node_modules/inter-ui/LICENSE.txt "$here/LICENSE"
sha256sum "$here"/Inter-*

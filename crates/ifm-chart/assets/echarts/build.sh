#!/bin/sh
# Rebuilds echarts.min.js in this folder, with the versions pinned below. Needs Node.js and npm.
# `cargo test -p ifm-chart` compares the file's SHA-256 with the one in ../README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/entry.js" "$work/entry.js"
cd "$work"
npm init --yes >/dev/null
npm install --silent --no-save echarts@6.1.0 esbuild@0.28.2
npx esbuild entry.js --bundle --minify --format=iife --global-name=echarts --target=es2020 \
  --legal-comments=none --define:process.env.NODE_ENV='"production"' --charset=utf8 \
  --outfile="$here/echarts.min.js"
cp node_modules/echarts/LICENSE node_modules/echarts/NOTICE "$here/"
cp node_modules/echarts/licenses/LICENSE-d3 "$here/LICENSE-d3"
cp node_modules/zrender/LICENSE "$here/LICENSE-zrender"
sha256sum "$here/echarts.min.js"

#!/usr/bin/env node
/**
 * Entry point of the installed commands `lodestone` and `kubectl-lodestone`. An older Node must be able to read it, to print which version is
 * required: it is plain JavaScript, without recent syntax and without the prefix `node:`.
 */
const { existsSync } = require('fs')
const { join } = require('path')
const { engines } = require('../package.json')

const required = engines.node.replace('>=', '')

if (Number.parseInt(process.versions.node, 10) < Number(required)) {
  const found = `Node.js ${required} or newer is required, and this is ${process.version}`
  process.stderr.write(`lodestone: ${found}; install a newer Node.js, or put it first in the PATH\n`)
  process.exitCode = 1
} else {
  // A clone has the sources, which Node runs without a build. The package has only the build.
  void import(existsSync(join(__dirname, '..', 'src', 'main.ts')) ? '../src/main.ts' : '../dist/main.js')
}

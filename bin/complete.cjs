#!/usr/bin/env node
/** Completes the words after `kubectl lodestone`. kubectl finds this program by its name on the PATH. */
process.argv.splice(2, 0, '__complete')
require('./lodestone.cjs')

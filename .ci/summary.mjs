// Sums up a folder with STEP.json (a report of vitest) and STEP.log (the output of a step): the failed steps with the end of their
// output, the failed tests, and in the last line how many tests passed and failed.
// Usage: summary.mjs FOLDER [FAILED STEP]...
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const MAX_NAMED = 20
const MAX_LINE = 500
const MAX_LOG_LINES = 30

const [folder, ...failedSteps] = process.argv.slice(2)
const reports = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))

function linesOf(text) {
  const lines = stripVTControlCharacters(text).trim().split('\n')
  return lines.map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line))
}

function firstLineOf(message) {
  return linesOf(message)[0]
}

function endOfOutputOf(step) {
  const file = join(folder, `${step}.log`)
  return existsSync(file) ? linesOf(readFileSync(file, 'utf8')).slice(-MAX_LOG_LINES) : []
}

// A file that did not load, or whose preparation failed, has no failed test of its own, and counts as one.
function failuresOf({ status, name, message, assertionResults }) {
  const file = relative(process.cwd(), name)
  const failed = assertionResults.filter((test) => test.status === 'failed')
  if (failed.length === 0 && status === 'failed') return [`${file}: ${firstLineOf(message)}`]
  return failed.map(({ ancestorTitles, title, failureMessages }) => {
    const titles = [file, ...ancestorTitles, title].filter((one) => one !== '').join(' > ')
    return `${titles}: ${firstLineOf(failureMessages[0] ?? 'no message')}`
  })
}

const passed = reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0)
const failures = reports.flatMap(({ testResults }) => testResults.flatMap(failuresOf))

for (const step of failedSteps) {
  console.log(`the step ${step} failed`)
  for (const line of endOfOutputOf(step)) console.log(`  ${line}`)
}
for (const failure of failures.slice(0, MAX_NAMED)) console.log(`failed: ${failure}`)
if (failures.length > MAX_NAMED) console.log(`and ${failures.length - MAX_NAMED} more`)
// Something other than a test failed: a run that failed never says "0 failed".
console.log(`${passed} passed, ${failures.length || Math.min(failedSteps.length, 1)} failed`)

// The end of the output of .ci/run: the failed steps and tests, and their number in the last line.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'

const program = join(import.meta.dirname, '..', '.ci', 'summary.mjs')
const root = join(import.meta.dirname, '..')

// Returns the lines that are printed for these reports of vitest.
function summaryOf(reports: object[], ...failedSteps: string[]): string[] {
  return summaryWithLogs(reports, {}, ...failedSteps)
}

// The same, with the output of steps.
function summaryWithLogs(reports: object[], logs: Record<string, string>, ...failedSteps: string[]): string[] {
  const folder = temporaryFolder()
  for (const [i, report] of reports.entries()) writeFileSync(join(folder, `${i}.json`), JSON.stringify(report))
  for (const [step, text] of Object.entries(logs)) writeFileSync(join(folder, `${step}.log`), text)
  const args = [program, folder, ...failedSteps]
  return execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).trimEnd().split('\n')
}

const passedTest = { ancestorTitles: [], title: 'passes', status: 'passed', failureMessages: [] }
const failedTest = (title: string, message: string) => ({
  ancestorTitles: ['a controller', 'on a hub'],
  title,
  status: 'failed',
  failureMessages: [message],
})
const report = (numPassedTests: number, ...testResults: object[]) => ({ numPassedTests, testResults })
const fileOf = (name: string, assertionResults: object[], message = '') => {
  const status = message || assertionResults.some((one) => one !== passedTest) ? 'failed' : 'passed'
  return { name: join(root, name), status, message, assertionResults }
}

test('a run without failures has one line', () => {
  expect(summaryOf([report(3, fileOf('a.test.ts', [passedTest])), report(4)])).toEqual(['7 passed, 0 failed'])
})

test('each failed test is named with its file and the start of its message, uncolored', () => {
  const lines = summaryOf(
    [
      report(1, fileOf('src/a.test.ts', [passedTest, failedTest('moves', '\u001B[31mError: first\u001B[0m\nsecond')])),
      report(0, fileOf('test/b.test.ts', [], 'no control plane\n    at line 1')),
    ],
    'test',
  )

  expect(lines).toEqual([
    'the step test failed',
    'failed: src/a.test.ts > a controller > on a hub > moves: Error: first',
    'failed: test/b.test.ts: no control plane',
    '1 passed, 2 failed',
  ])
})

test('at most twenty are named, each in a line of limited length, and all are counted', () => {
  const many = Array.from({ length: 23 }, (_, i) => failedTest(`case ${i}`, 'x'.repeat(100_000)))

  const lines = summaryOf([report(0, fileOf('a.test.ts', many))])

  expect(lines).toHaveLength(22)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(700)
  expect(lines.slice(-2)).toEqual(['and 3 more', '0 passed, 23 failed'])
})

test('a step that failed without a failed test counts as one failure', () => {
  expect(summaryOf([report(5)], 'check', 'fuzz')).toEqual([
    'the step check failed',
    'the step fuzz failed',
    '5 passed, 1 failed',
  ])
})

test('a failed step is shown with the end of its output, which says why it failed', () => {
  const logs = {
    check: 'fine\n',
    fuzz: `${'a batch\n'.repeat(1_000)}\u001B[31mFAILED: stall\u001B[0m: ${'x'.repeat(10_000)}\n`,
  }

  const lines = summaryWithLogs([report(5)], logs, 'fuzz')

  expect(lines).toHaveLength(32)
  expect(lines.slice(0, 2)).toEqual(['the step fuzz failed', '  a batch'])
  expect(lines.at(-2)).toMatch(/^ {2}FAILED: stall: x{480,500}…$/)
  expect(lines.at(-1)).toBe('5 passed, 1 failed')
})

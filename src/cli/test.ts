/** `lodestone test`: runs manifests with expected results. */
import { setImmediate } from 'node:timers/promises'
import { printable } from '../base/printable.ts'
import { type Arguments, type Command, type CommandIo, painter, UsageError } from './command.ts'
import type { TestCase } from './conversations/complete-test.ts'
import { readTests } from './conversations/read-tests.ts'
import { REPORT_FORMATS, REPORTS } from './conversations/report.ts'
import { runTest, type TestResult } from './conversations/run-test.ts'
import { updateFiles } from './conversations/update.ts'
import { outputOption, readFormat } from './output.ts'

export const test: Command = {
  usage: 'DIR… [--run PATTERN] [-o text|junit|json] [--update]',
  options: {
    ...outputOption(REPORT_FORMATS, 'text (default), junit or json'),
    run: {
      type: 'string',
      value: 'PATTERN',
      description: 'Run only tests whose name or description matches this regular expression',
    },
    update: { type: 'boolean', description: 'Write the actual results into the files of failed tests' },
  },
  positionals: true,
  examples: [
    { command: 'lodestone test tests/', does: 'Run all tests of a folder' },
    {
      command: 'lodestone test tests/ --run trainer',
      does: 'Run the tests with this word in their name or description',
    },
    { command: 'lodestone test tests/ -o junit > report.xml', does: 'In a pipeline: exit status 1 if a test fails' },
    { command: 'lodestone test tests/ --update', does: 'Accept the actual results; read the change before you commit' },
  ],
  run: runTests,
}

/** Exit status: 0 if all tests pass or were updated, 1 if one fails, 2 for invalid tests or arguments. */
async function runTests(args: Arguments, io: CommandIo): Promise<number> {
  const render = REPORTS[readFormat(args, REPORT_FORMATS)]
  const paths = args.positionals
  if (paths.length === 0)
    throw new UsageError("missing DIR: a folder or a file with tests\nSee 'lodestone test --help'.")
  const pattern = readPattern(args.text('run'))
  const reads = await Promise.all(paths.map(readTests))
  const errors = reads.flatMap((read) => read.errors)
  for (const error of errors) io.stderr.write(`${printable(error)}\n`)
  if (errors.length > 0) return 2
  const files = reads.flatMap((read) => read.files)
  // A pipeline with a wrong path must not look like one whose tests pass.
  if (files.length === 0) throw new UsageError(`no test in ${paths.join(', ')}; see docs/guides/test.md for the format`)
  const results: TestResult[] = []
  const selected = files.flatMap(({ tests }) => tests).filter((test) => isSelected(test, pattern))
  if (selected.length === 0) throw new UsageError(`no test matches --run ${args.text('run')}`)
  for (const one of selected) {
    // A test runs in memory without a pause, in which a signal would be seen.
    await setImmediate()
    io.signal.throwIfAborted()
    results.push(await runTest(one))
  }
  if (args.flag('update')) {
    const written = updateFiles(files, results)
    for (const file of written) io.stderr.write(`updated ${file}\n`)
    const updated = results.map((result) => ({ ...result, passed: true, expected: result.actual }))
    io.stdout.write(render(updated, painter(io.stdout, io.env)))
    return 0
  }
  io.stdout.write(render(results, painter(io.stdout, io.env)))
  return results.every(({ passed }) => passed) ? 0 : 1
}

function readPattern(text: string | undefined): RegExp | undefined {
  try {
    return text === undefined ? undefined : new RegExp(text)
  } catch (cause) {
    throw new UsageError(`--run takes a regular expression, not ${text}`, { cause })
  }
}

function isSelected({ name, description }: TestCase, pattern: RegExp | undefined): boolean {
  return pattern === undefined || pattern.test(name) || pattern.test(description)
}

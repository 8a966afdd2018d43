/** Renders the results of tests: a table with a diff per failure, a JUnit report, or JSON. */
import { defined, jsonEqual } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { formatCount } from '../../base/quantity.ts'
import { renderDiff } from '../check/render/text.ts'
import type { Paint } from '../command.ts'
import { formatColumns } from '../format.ts'
import { renderJunit } from '../junit.ts'
import { renderData } from '../output.ts'
import type { TestResult } from './run-test.ts'

export const REPORT_FORMATS = ['text', 'junit', 'json'] as const

export const REPORTS: Readonly<
  Record<(typeof REPORT_FORMATS)[number], (results: readonly TestResult[], paint: Paint) => string>
> = {
  text: renderText,
  junit: (results) =>
    renderJunit(
      'lodestone test',
      results.map((result) =>
        defined({
          name: result.test.description || result.test.name,
          classname: result.test.name,
          failure: result.passed
            ? undefined
            : { message: failureSummary(result), text: answerDiff(result, (_, text) => text) },
        }),
      ),
    ),
  json: (results) => renderData(results.map(toRow), 'json'),
}

function renderText(results: readonly TestResult[], paint: Paint): string {
  const rows = results.map(({ test, passed }) => [passed ? 'pass' : 'fail', test.name, test.description])
  const failed = results.filter(({ passed }) => !passed)
  return [
    formatColumns([['RESULT', 'TEST', 'DESCRIPTION'], ...rows]),
    ...failed.map(
      (result) =>
        `\n${paint('red', '✘')} ${paint('bold', printable(result.test.name))}\n${answerDiff(result, paint)}\n`,
    ),
    `\n${formatCount(results.length, 'test')}: ${results.length - failed.length} passed, ${failed.length} failed\n`,
  ].join('')
}

/** The fields that differ: `-` is the expected value, `+` the actual one. */
function answerDiff({ expected, actual }: TestResult, paint: Paint): string {
  return renderDiff({ before: expected, after: actual }, paint, '    ')
}

function failureSummary({ test, expected, actual }: TestResult): string {
  if (Object.keys(test.expect).length === 0) return 'expects nothing; write expect, or use --update'
  const names = Object.keys(expected).filter((name) => !isSame(expected, actual, name))
  return `differs in ${names.map((name) => `expect.${name}`).join(', ')}`
}

function isSame(expected: object, actual: object, name: string): boolean {
  return jsonEqual((expected as Record<string, unknown>)[name], (actual as Record<string, unknown>)[name])
}

function toRow({ test, passed, expected, actual }: TestResult) {
  return { name: test.name, description: test.description, result: passed ? 'pass' : 'fail', expected, actual }
}

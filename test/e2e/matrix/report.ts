/** The results of the scenarios by pair of versions: a JSON file, and the table of docs/reference/compatibility.md that is made of it. */
import type { Scenario } from './scenarios.ts'

export interface Result {
  passed: number
  failed: number
  /** The day of the run. */
  date: string
}

/** By name of a pair, then by name of a scenario. */
export type Results = Record<string, Record<string, Result>>

interface VitestReport {
  success: boolean
  numPassedTests: number
  numFailedTests: number
}

const BEGIN = '<!-- Written by npm run e2e -- --matrix. -->'
const END = '<!-- End of the table. -->'

/** Counts the tests of a report of vitest. A file that did not load counts as one failed test. */
export function resultOf({ success, numPassedTests, numFailedTests }: VitestReport, date: string): Result {
  return { passed: numPassedTests, failed: numFailedTests || (success ? 0 : 1), date }
}

/** Returns the page with a new table. Throws if the page has no place for it. */
export function withTable(page: string, results: Results, scenarios: readonly Scenario[]): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`the page has no ${BEGIN} before ${END}`)
  return `${page.slice(0, begin)}${BEGIN}\n\n${tableOf(results, scenarios)}\n\n${page.slice(end)}`
}

function tableOf(results: Results, scenarios: readonly Scenario[]): string {
  const header = ['Kubernetes', 'Karmada', ...scenarios.map(({ name }) => name), 'Date']
  const rows = Object.entries(results)
    .sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }))
    .map(([pair, found]) => {
      const cells = scenarios.map(({ name }) => textOf(found[name]))
      const dates = Object.values(found).map(({ date }) => date)
      return [...pair.split('+'), ...cells, dates.sort()[0] ?? '']
    })
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function textOf(result: Result | undefined): string {
  if (!result) return 'not run'
  const { passed, failed } = result
  return failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} failed`
}

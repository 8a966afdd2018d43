/** The rules of the end-to-end test of the alerts have shorter durations, and are the same otherwise. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Rules, shortenDuration, shortenRules } from './alerts/short-rules.ts'

const SHORTENING = { factor: 60, shortestMs: 1000 }
const shortExpression = (expr: string) => shortenRules({ groups: [{ name: 'a', rules: [{ expr }] }] }, SHORTENING)

test.each([
  { duration: '5m', want: '5000ms' },
  { duration: '1h30m', want: '90000ms' },
  { duration: '3d', want: '4320000ms' },
  { duration: '90s', want: '1500ms' },
  { duration: '100ms', want: '1000ms' },
])('$duration is shortened to $want', ({ duration, want }) => {
  expect(shortenDuration(duration, SHORTENING)).toBe(want)
})

test.each(['', '5', 'm', '5m ago', '$window'])('"%s" is no duration', (duration) => {
  expect(() => shortenDuration(duration, SHORTENING)).toThrow('is not a duration of Prometheus')
})

test.each([
  { expr: 'rate(a_total[5m]) > 0', want: 'rate(a_total[5000ms]) > 0' },
  { expr: 'a unless a offset 10m', want: 'a unless a offset 10000ms' },
  { expr: 'a offset -1m', want: 'a offset -1000ms' },
  { expr: 'max_over_time(rate(a[5m])[1h:1m])', want: 'max_over_time(rate(a[5000ms])[60000ms:1000ms])' },
  { expr: 'lodestone:slow:ratio_rate5m{window="5m"} > 300', want: 'lodestone:slow:ratio_rate5m{window="5m"} > 300' },
])('in "$expr" windows and offsets are shortened alone', ({ expr, want }) => {
  expect(shortExpression(expr).groups[0]?.rules).toEqual([{ expr: want }])
})

const UNCHANGED = /\d(ms|[smhdwy])\b/

test.each(globSync('charts/lodestone/files/alerts/*.yaml'))('%s has no duration that stays long', (file) => {
  const { groups }: Rules = parse(readFileSync(file, 'utf8'))
  for (const rule of shortenRules({ groups }, SHORTENING).groups.flatMap(({ rules }) => rules)) {
    const texts = [rule.expr.replaceAll(/lodestone:\w+:\w+/g, ''), rule.for, rule.keep_firing_for]
    expect(texts.join(' ').replaceAll(/\d+ms/g, '')).not.toMatch(UNCHANGED)
  }
})

/** The default values of the chart, as paths. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { isObject } from '../src/base/json.ts'

/** Returns the path of each value in charts/lodestone/values.yaml with its default; an empty map is one value. */
export function chartValues(): [string, unknown][] {
  return leavesOf(parse(readFileSync('charts/lodestone/values.yaml', 'utf8')))
}

function leavesOf(map: Record<string, unknown>, at: readonly string[] = []): [string, unknown][] {
  return Object.entries(map).flatMap(([key, value]) =>
    isObject(value) && Object.keys(value).length > 0
      ? leavesOf(value, [...at, key])
      : [[[...at, key].join('.'), value] as [string, unknown]],
  )
}

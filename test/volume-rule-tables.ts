/** Tests of the validation rules of options, by tables. */
import { describe, expect, test } from 'vitest'
import type { VolumeConfig } from '../src/api/volume-manager.ts'
import type { Rule } from '../src/core/volume-manager/rules/option-rules.ts'
import type { VolumeLimits } from '../src/core/volume-manager/rules/settings.ts'
import { makeVolume } from './builders.ts'

/** The values of one option, and the codes of its invalid values. */
export interface ValueCases {
  name: string
  rule: Rule
  option: string
  valid: string[]
  invalid: [value: string, code: string][]
}

/** The code of a whole volume; undefined for one that is valid. */
export interface VolumeCase {
  name: string
  rule: Rule
  options: Record<string, string>
  more?: Partial<VolumeConfig>
  code: string | undefined
}

/** Runs both tables with these limits. */
export function testRules(limits: VolumeLimits, values: readonly ValueCases[], volumes: readonly VolumeCase[]): void {
  const codeOf = (rule: Rule, options: Record<string, string>, more: Partial<VolumeConfig> = {}) =>
    rule(makeVolume({ options, ...more }), limits)?.code

  describe.each(values)('the rule $name', ({ rule, option, valid, invalid }) => {
    test.each(valid)('allows "%s"', (value) => {
      expect(codeOf(rule, { [option]: value })).toBeUndefined()
    })

    test.each(invalid)('reports "%s" as %s', (value, code) => {
      expect(codeOf(rule, { [option]: value })).toBe(code)
    })
  })

  test.each(volumes)('$name: $code', ({ rule, options, more = {}, code }) => {
    expect(codeOf(rule, options, more)).toBe(code)
  })
}

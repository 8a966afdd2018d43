import { describe, expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { Rule } from './option-rules.ts'
import * as rules from './resync-rules.ts'
import { DEFAULT_VOLUME_LIMITS } from './settings.ts'

const codeOf = (rule: Rule, options: Record<string, string>, more: Partial<VolumeConfig> = {}) =>
  rule(makeVolume({ options, ...more }), DEFAULT_VOLUME_LIMITS)?.code

describe.each<{ name: string; rule: Rule; option: string; valid: string[]; invalid: [string, string][] }>([
  { name: 'resync', rule: rules.resync, option: 'resync', valid: ['true', 'F', ''], invalid: [['yes', 'Invalid']] },
  {
    name: 'resyncInterval',
    rule: rules.resyncInterval,
    option: 'resyncInterval',
    valid: ['5m'],
    invalid: [
      ['0s', 'Invalid'],
      ['soon', 'Invalid'],
    ],
  },
])('the rule $name', ({ rule, option, valid, invalid }) => {
  test.each(valid)('allows "%s"', (value) => {
    expect(codeOf(rule, { [option]: value })).toBeUndefined()
  })

  test.each(invalid)('reports "%s" as %s', (value, code) => {
    expect(codeOf(rule, { [option]: value })).toBe(code)
  })
})

test.each<{
  name: string
  rule: Rule
  options: Record<string, string>
  more?: Partial<VolumeConfig>
  code: string | undefined
}>([
  {
    name: 'resync of a read-only volume',
    rule: rules.resyncReadOnly,
    options: { resync: 'true' },
    more: { readOnly: true },
    code: 'Invalid',
  },
  { name: 'resync of a writable volume', rule: rules.resyncReadOnly, options: { resync: 'true' }, code: undefined },
  {
    name: 'resync with two replicas',
    rule: rules.resyncReplicas,
    options: { resync: 'true' },
    more: { replicas: 2 },
    code: 'Invalid',
  },
  {
    name: 'no resync with two replicas',
    rule: rules.resyncReplicas,
    options: { resync: 'false' },
    more: { replicas: 2 },
    code: undefined,
  },
  {
    name: 'resync of files without folders',
    rule: rules.resyncFlatten,
    options: { resync: 'true', flatten: 'true' },
    code: 'Invalid',
  },
  {
    name: 'resync of files with folders',
    rule: rules.resyncFlatten,
    options: { resync: 'true', flatten: 'false' },
    code: undefined,
  },
])('$name: $code', ({ rule, options, more = {}, code }) => {
  expect(codeOf(rule, options, more)).toBe(code)
})

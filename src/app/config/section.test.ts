import { expect, test } from 'vitest'
import { choice, field, flag, list, optional, section, text } from './section.ts'

const server = section({
  host: field(text, 'localhost', 'Where it listens.'),
  mode: choice(['fast', 'safe'], 'safe', 'How it works.'),
  names: list([], 'Its names.'),
  certificate: optional<string>(text, 'Its certificate.'),
  log: section({ enabled: field(flag, false, 'Whether it logs.') }),
})

test('a section has the schema of its fields, in their order', () => {
  expect(JSON.stringify(server.schema)).toBe(
    JSON.stringify({
      type: 'object',
      properties: {
        host: text,
        mode: { enum: ['fast', 'safe'] },
        names: { type: 'array', items: text },
        certificate: text,
        log: { type: 'object', properties: { enabled: flag } },
      },
    }),
  )
})

test('a section has the defaults of its fields, and no member for a field without one', () => {
  const values: {
    host: string
    mode: 'fast' | 'safe'
    names: string[]
    certificate?: string
    log: { enabled: boolean }
  } = server.default
  expect(Object.entries(values)).toEqual([
    ['host', 'localhost'],
    ['mode', 'safe'],
    ['names', []],
    ['log', { enabled: false }],
  ])
})

test('the values of a section have the types of its fields', () => {
  type Values = typeof server.default
  // @ts-expect-error: a field with a default is required
  const incomplete: Values = { host: '', mode: 'fast', names: [] }
  // @ts-expect-error: a choice has only its texts
  const other: Values['mode'] = 'slow'
  expect([incomplete, other]).toHaveLength(2)
})

/** The pages about our resources: each field of a schema is in the first column of a table. */
import { readFileSync } from 'node:fs'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { dataSourceSchema } from '../src/api/schemas/data-source.ts'
import { dataSourceClaimSchema } from '../src/api/schemas/data-source-claim.ts'

interface FieldSchema {
  properties?: Readonly<Record<string, object>>
}

/** The paths of all fields. The fields of list items are those of Kubernetes, such as conditions. */
function fieldsOf({ properties = {} }: FieldSchema, path = ''): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = path === '' ? name : `${path}.${name}`
    const nested = fieldsOf(schema as FieldSchema, own)
    return nested.length > 0 ? nested : [own]
  })
}

function firstColumns(page: string): string[] {
  const names: string[] = []
  void walkTokens(lexer(readFileSync(page, 'utf8')), (token: Token) => {
    if (token.type !== 'table') return
    for (const [first] of (token as Tokens.Table).rows) {
      void walkTokens(first?.tokens ?? [], (cell: Token) => {
        if (cell.type === 'codespan') names.push(cell['text'] as string)
      })
    }
  })
  return names
}

const POLICY = 'spec.policy.'

describe.each([
  { kind: 'DataSource', schema: dataSourceSchema, page: 'docs/guides/data-systems.md' },
  { kind: 'DataSourceClaim', schema: dataSourceClaimSchema, page: 'docs/concepts/claims.md' },
])('$page has each field of $kind', ({ schema, page }) => {
  const named = new Set(firstColumns(page))

  test.each(fieldsOf(schema as FieldSchema))('%s', (field) => {
    // The fields of the policy have a table of their own.
    expect(named).toContain(field.startsWith(POLICY) ? field.slice(POLICY.length) : field)
  })
})

test('the list has fields of every level', () => {
  expect(fieldsOf(dataSourceSchema as FieldSchema)).toEqual(
    expect.arrayContaining(['spec.reclaimPolicy', 'spec.locality.bytes', 'status.conditions']),
  )
})

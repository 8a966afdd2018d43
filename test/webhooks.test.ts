/** The golden conversations of webhooks/<name>/examples, run with `lodestone test`, and the generated files. */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { runWords } from '../src/cli/cli.fake.ts'
import { generatedFiles } from '../src/cli/manifests.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { allWebhooks } from '../src/webhooks/index.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)
const examples = globSync('webhooks/*/examples/*.yaml').sort()

describe.each(webhooks)('the conversations of $name', ({ name }) => {
  const folder = join('webhooks', name, 'examples')

  test('pass (lodestone test webhooks --update writes the answers)', async () => {
    const { status, stdout, stderr } = await runWords(['test', folder])
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^${readdirSync(folder).length} tests?: `, 'm'))
  })
})

test.each(examples)('%s expects each part of the answer', (file) => {
  const { expect: expected } = parse(readFileSync(file, 'utf8'))
  expect(Object.keys(expected)).toEqual(expect.arrayContaining(['allowed', 'decision', 'warnings', 'patch']))
  expect(Object.hasOwn(expected, 'message')).toBe(!expected.allowed)
})

test.each(Object.entries(generatedFiles()))(
  '%s is what the code says (npm run manifests writes it)',
  (file, content) => {
    expect(readFileSync(file, 'utf8')).toBe(content)
  },
)

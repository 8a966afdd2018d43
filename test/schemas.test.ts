// The schemas that Lodestone checks by are valid ones: at a start they are taken as they are, without a look at each of them.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', 'src')
const files = [
  ...['api', join('api', 'schemas')].flatMap((folder) =>
    readdirSync(join(root, folder)).map((file) => join(folder, file)),
  ),
  join('app', 'config', 'config.ts'),
  join('app', 'config', 'volumes-config.ts'),
  join('locality', 'config', 'schema.ts'),
  join('cli', 'conversations', 'test-schema.ts'),
]
const modules = await Promise.all(
  files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file): Promise<Record<string, object>> => import(join(root, file))),
)
const schemas = modules.flatMap((module) => Object.entries(module).filter(([name]) => /schema$/i.test(name)))

test('every schema is checked', () => {
  const names = schemas.map(([name]) => name)
  expect(names).toContain('admissionReviewSchema')
  expect(names).toContain('systemSchema')
  expect(names.length).toBeGreaterThanOrEqual(12)
})

test.each(schemas)('%s is a valid JSON Schema', (_name, schema) => {
  const ajv = new Ajv({ strict: false })
  expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true)
})

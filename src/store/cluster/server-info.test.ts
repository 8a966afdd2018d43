import { expect, test } from 'vitest'
import { connectToFake } from './api-connection.fake.ts'
import { type Answer, status } from './api-responses.fake.ts'
import { openServerInfo } from './server-info.ts'

const OPENAPI = '/openapi/v3/apis/work.karmada.io/v1alpha2'

/** Reads from a server that answers these paths. */
async function read(answers: Record<string, Answer>) {
  const { server, connection } = await connectToFake([])
  for (const [path, answer] of Object.entries(answers)) server.misbehave((request) => request.path === path, answer)
  return openServerInfo(connection)()
}

const json =
  (body: unknown): Answer =>
  (response) =>
    void response.end(JSON.stringify(body))
const version = json({ major: '1', minor: '28', gitVersion: 'v1.28.15' })
const schemas = { 'io.karmada.work.v1alpha2.ResourceBinding': { type: 'object' } }

test('a hub has a version and the schemas of its bindings', async () => {
  expect(await read({ '/version': version, [OPENAPI]: json({ components: { schemas } }) })).toEqual({
    version: 'v1.28.15',
    bindingSchemas: schemas,
  })
})

test('a cluster without Karmada has no schemas of bindings', async () => {
  expect(await read({ '/version': version, [OPENAPI]: status(404, 'NotFound') })).toEqual({ version: 'v1.28.15' })
})

test.each([{}, [], 'text', { components: [] }, { components: { schemas: null } }])(
  'a document without schemas counts as empty: %j',
  async (document) => {
    expect(await read({ '/version': json(null), [OPENAPI]: json(document) })).toEqual({
      version: '',
      bindingSchemas: {},
    })
  },
)

test.each([
  { name: 'version', answers: { '/version': status(403, 'Forbidden') } },
  { name: 'schemas', answers: { '/version': version, [OPENAPI]: status(403, 'Forbidden') } },
])('a rejection of the $name is thrown', async ({ answers }) => {
  await expect(read(answers)).rejects.toThrow('GET /')
})

/** Every command uses the namespace of `-n`, or else that of the context, as kubectl does. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeDeployment } from '../../../test/builders.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { collectionPath } from '../../api/meta.ts'
import { startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { makeFolder, makeKubeconfig, runWords } from '../cli.fake.ts'

const startHub = () => startFakeApiServer(cachedKinds.map(({ type }) => type))

describe.each([
  { context: {}, words: [], namespace: 'default' },
  { context: { namespace: 'shop' }, words: [], namespace: 'shop' },
  { context: { namespace: 'shop' }, words: ['-n', 'lab'], namespace: 'lab' },
])('with $context in the kubeconfig and the options $words', ({ context, words, namespace }) => {
  test(`explain reads namespace ${namespace}`, async () => {
    const server = await startHub()
    const kubeconfig = makeKubeconfig(server.url, context)

    const answer = await runWords(['explain', 'deployment/x', '--kubeconfig', kubeconfig, ...words])

    expect(answer).toMatchObject({ status: 1, stderr: expect.stringContaining(`Deployment ${namespace}/x not found`) })
  })

  test(`completion offers the names of namespace ${namespace}`, async () => {
    const server = await startHub()
    const env = { KUBECONFIG: makeKubeconfig(server.url, context) }

    await runWords(['__complete', 'explain', ...words, 'dsc/'], { env })

    expect(server.requests.map(({ path }) => path)).toEqual([collectionPath(dataSourceClaims, namespace)])
  })

  test(`check assumes namespace ${namespace}`, async () => {
    const server = await startHub()
    const { namespace: _none, ...metadata } = makeDeployment().metadata
    const file = join(makeFolder({ 'app.yaml': { ...makeDeployment(), metadata } }), 'app.yaml')

    const { stdout } = await runWords([
      ...['check', '-f', file, '--kubeconfig', makeKubeconfig(server.url, context), '-o', 'json', ...words],
    ])

    const ids = JSON.parse(stdout).findings.map(({ id }: { id: string }) => id)
    const isGiven = words.length > 0 || 'namespace' in context
    expect(JSON.parse(stdout).findings[0].object).toBe(`Deployment ${namespace}/app`)
    expect(ids.includes('no-namespace')).toBe(!isGiven)
  })

  test(`check-install makes dry runs in namespace ${namespace}`, async () => {
    const server = await startHub()

    await runWords(['check-install', '--kubeconfig', makeKubeconfig(server.url, context), ...words])

    const creations = server.requests.filter(({ query }) => query.has('dryRun'))
    expect(creations.map(({ path }) => path)).toContain(collectionPath(dataSourceClaims, namespace))
  })
})

test('a folder has no context, and $KUBECONFIG does not matter', async () => {
  const env = { KUBECONFIG: makeKubeconfig('http://127.0.0.1:1', { namespace: 'shop' }) }

  const { stderr } = await runWords(['explain', 'deployment/x', '--folder', makeFolder()], { env })

  expect(stderr).toContain('Deployment default/x not found')
})

test.each(['explain deployment/x', 'status', 'check -f .', 'check-install'])(
  '%s rejects an invalid -n',
  async (line) => {
    const { status, stderr } = await runWords([...line.split(' '), '-n', 'Shop!', '--context', 'none'])

    expect(status).toBe(2)
    expect(stderr).toMatch(/^lodestone [a-z-]+: -n Shop!: .*\n$/)
  },
)

/** Tests `lodestone __complete`, which the scripts call. test/e2e/completion.e2e.test.ts runs the scripts in real shells. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource } from '../../../test/builders.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { namespaces } from '../../api/namespace.ts'
import { hang } from '../../store/cluster/api-responses.fake.ts'
import { startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { makeFolder, runWords } from '../cli.fake.ts'
import { readUnfinished } from '../command.ts'
import { status } from '../status/status.ts'
import type { NameQuery } from './complete.ts'
import { readNames } from './names.ts'

async function complete(...words: string[]): Promise<{ values: string[]; directive: string | undefined }> {
  const { status, stdout, stderr } = await runWords(['__complete', ...words])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const lines = stdout.trimEnd().split('\n')
  return { directive: lines.pop(), values: lines.map((line) => line.split('\t')[0] ?? '') }
}

describe('the last word is completed', () => {
  const folder = () =>
    makeFolder({
      'claims.yaml': [makeClaim({}, { name: 'orders' }), makeClaim({}, { name: 'sales', namespace: 'shop' })],
      'source.yaml': makeSource({}, { name: 'all-orders' }),
    })
  const [noFiles, noSpace, files, directories] = [':4', ':6', ':0', ':16']
  test.each([
    { name: 'a command', words: ['st'], values: ['status'], directive: noFiles },
    { name: 'a command after help', words: ['help', 'exp'], values: ['explain'], directive: noFiles },
    { name: 'an option', words: ['status', '--kube'], values: ['--kubeconfig'], directive: noFiles },
    {
      name: 'not an option that is given',
      words: ['status', '--folder', 'x', '--fold'],
      values: [],
      directive: noFiles,
    },
    { name: 'a repeated option', words: ['certs', '--host', 'x', '--ho'], values: ['--host'], directive: noFiles },
    { name: 'a format', words: ['check', '-o', 'd'], values: ['diff'], directive: noFiles },
    // As in cobra, the value alone.
    { name: 'a format after =', words: ['check', '--output=js'], values: ['json'], directive: noFiles },
    { name: 'a format after a short option and =', words: ['check', '-o=js'], values: ['json'], directive: noFiles },
    { name: 'a file after =', words: ['check', '--file=x'], values: [], directive: files },
    { name: 'nothing of an unknown option', words: ['check', '--unknown=x'], values: [], directive: noFiles },
    { name: 'a level', words: ['serve', '--log-level', 'de'], values: ['debug'], directive: noFiles },
    { name: 'a file', words: ['check', '-f', 'x'], values: [], directive: files },
    { name: 'a folder', words: ['status', '--folder', 'x'], values: [], directive: directories },
    { name: 'a shell', words: ['completion', 'z'], values: ['zsh'], directive: noFiles },
    { name: 'an empty word', words: ['completion', ''], values: ['bash', 'zsh', 'fish'], directive: noFiles },
    { name: 'a part', words: ['manifests', 'crds', 're'], values: ['registration'], directive: noFiles },
    { name: 'a kind', words: ['explain', 'datasourcec'], values: ['datasourceclaim/'], directive: noSpace },
    { name: 'nothing of an unknown command', words: ['nonsense', ''], values: [], directive: noFiles },
    { name: 'nothing of a value that can be anything', words: ['serve', '--port', ''], values: [], directive: noFiles },
    { name: 'a name', words: ['explain', '--folder', 'DIR', 'dsc/o'], values: ['dsc/orders'], directive: noFiles },
    {
      name: 'a name in a namespace',
      words: ['explain', '-n', 'shop', '--folder=DIR', 'dsc', ''],
      values: ['sales'],
      directive: noFiles,
    },
    {
      name: 'a name in a namespace after =',
      words: ['explain', '-n=shop', '--folder=DIR', 'dsc', ''],
      values: ['sales'],
      directive: noFiles,
    },
    {
      name: 'a namespace after =',
      words: ['status', '--folder', 'DIR', '--namespace=s'],
      values: ['shop'],
      directive: noFiles,
    },
    {
      name: 'a name without a namespace',
      words: ['explain', '--folder', 'DIR', 'datasource/'],
      values: ['datasource/all-orders'],
      directive: noFiles,
    },
    {
      name: 'a namespace',
      words: ['status', '--folder', 'DIR', '-n', ''],
      values: ['default', 'shop'],
      directive: noFiles,
    },
    {
      name: 'nothing for an unreadable folder',
      words: ['explain', '--folder', '/none', 'dsc/'],
      values: [],
      directive: noFiles,
    },
    {
      name: 'nothing for an unknown kind',
      words: ['explain', '--folder', 'DIR', 'nonsense/'],
      values: [],
      directive: noFiles,
    },
    { name: 'nothing after the object', words: ['explain', 'dsc/orders', ''], values: [], directive: noFiles },
    { name: 'nothing without an API server', words: ['explain', 'dsc/'], values: [], directive: noFiles },
  ])('$name: $words', async ({ words, values, directive }) => {
    const directory = folder()
    expect(await complete(...words.map((word) => word.replace('DIR', directory)))).toEqual({ values, directive })
  })

  test.each(['~/hub', '$HOME/hub', '$' + '{HOME}/hub'])(
    'a name in the folder %s, which the shell does not expand',
    async (hub) => {
      const env = { HOME: makeFolder({ 'hub/claims.yaml': makeClaim({}, { name: 'orders' }) }) }
      const { stdout } = await runWords(['__complete', 'explain', '--folder', hub, 'dsc/'], { env })
      expect(stdout).toBe('dsc/orders\n:4\n')
    },
  )

  test('with a description, for shells that show it', async () => {
    const { stdout } = await runWords(['__complete', 'status', '--kubec'])
    expect(stdout).toMatch(/^--kubeconfig\tKubeconfig of the API server [^\n]*\n:4\n$/)
  })
})

test('a name that a shell would run or split is not offered', async () => {
  const hostile = ['$(touch b)', '`touch b`', ';b', ' b', '\nb', '\tb', '\u001b[31m', "'b", '>b', '*', '~b', '!b']
  const names = [...hostile.map((end) => `a${end}`), 'a-b.c']
  const folder = makeFolder({ 'claims.yaml': names.map((name) => makeClaim({}, { name })) })
  expect((await complete('explain', '--folder', folder, 'dsc/')).values).toEqual(['dsc/a-b.c'])
})

describe('names of a hub', () => {
  async function startHub() {
    const hub = await startFakeApiServer([dataSourceClaims, namespaces])
    const name = 'hub'
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [{ name, cluster: { server: hub.url } }],
      users: [{ name, user: {} }],
      contexts: [name, 'spare', 's:p@q/r', 's$(p)'].map((context) => ({
        name: context,
        context: { cluster: name, user: name },
      })),
    }
    return { hub, file: join(makeFolder({ hub: kubeconfig }), 'hub') }
  }

  // A busy machine may need more than the second that a shell waits.
  async function readNamesOf(file: string, names: NameQuery['names'], timeoutMs = 60_000) {
    const output = { isTTY: false, write: () => true }
    const { signal } = new AbortController()
    const io = { stdout: output, stderr: output, env: {}, signal, now: () => 0 }
    const given = readUnfinished(status, ['--kubeconfig', file])
    return await readNames({ names, prefix: '', given }, io, timeoutMs)
  }

  test('are at most 500, of the kind and the namespace', async () => {
    const { hub, file } = await startHub()
    for (let i = 0; i < 600; i++) hub.put(dataSourceClaims, makeClaim({}, { name: `c${i}` }))
    expect(await readNamesOf(file, { kind: 'dsc' })).toHaveLength(500)
    expect(hub.requests.map(({ path, query }) => [path, query.get('limit')])).toEqual([
      ['/apis/datadependency.volcano.sh/v1alpha1/namespaces/default/datasourceclaims', '500'],
    ])
  })

  test('are namespaces and contexts too', async () => {
    const { hub, file } = await startHub()
    hub.put(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    expect(await readNamesOf(file, 'namespaces')).toEqual(['shop'])
    expect((await complete('status', '--kubeconfig', file, '--context', 's')).values).toEqual(['spare', 's:p@q/r'])
  })

  test('are left out if the API server does not answer in time', async () => {
    const { hub, file } = await startHub()
    hub.misbehave(() => true, hang)
    expect(await readNamesOf(file, { kind: 'dsc' }, 10)).toEqual([])
    expect(await complete('explain', '--kubeconfig', file, 'dsc/')).toEqual({ values: [], directive: ':4' })
  })
})

describe('the command completion', () => {
  test.each(['bash', 'zsh', 'fish'])('prints a script for %s that asks lodestone', async (shell) => {
    const { status, stdout } = await runWords(['completion', shell])
    expect(status).toBe(0)
    expect(stdout).toContain('__complete')
  })
})

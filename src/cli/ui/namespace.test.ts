/** Tests `ui -n`, `status -n` and `explain -n` with an API server over HTTP, for a user with rights in one namespace. */
import { beforeEach, describe, expect, test } from 'vitest'
import { makeClaim, makeCluster, makeDeployment, makePolicy, makeSource } from '../../../test/builders.ts'
import { pods } from '../../api/pod.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { type FakeApiServer, startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { makeKubeconfig, runWords } from '../cli.fake.ts'
import { typeOfReference } from '../kinds.ts'
import { makeNarrowedBinding, openPage, schemaErrors, startPage } from './ui.fake.ts'
import { pageKinds } from './ui.ts'

const DEPLOYMENTS = typeOfReference(makeDeployment())
const TYPES = [...new Set([...pageKinds(SHIPPED_KINDS).map(({ type }) => type), DEPLOYMENTS, pods])]

const resolved = { type: 'Resolved', status: 'True' as const, reason: 'Located', message: 'the data is in member2' }
const bound = {
  ...makeClaim(),
  status: { phase: 'Bound', boundDataSource: 'orders', conditions: [{ ...resolved, lastTransitionTime: '' }] },
}
const decided = makeNarrowedBinding(['member1', 'member2'])

let server: FakeApiServer

beforeEach(async () => {
  server = await startFakeApiServer(TYPES)
  const objects = [bound, decided, makeDeployment(), makePolicy(), makeSource(), makeCluster('member2')]
  for (const object of [...objects, makeClaim({}, { namespace: 'sales', name: 'hidden' })]) {
    const type = TYPES.find(({ kind }) => kind === object.kind)
    if (type) server.put(type, object)
  }
  server.permits = ({ path }) => path === '/version' || path.includes('/namespaces/default/')
})

const failureOf = async (words: string[]) => {
  const { status, stderr } = await runWords(words)
  return status === 0 ? 'no failure' : stderr
}

const connection = () => ['--kubeconfig', makeKubeconfig(server.url)]

async function readPage() {
  const page = await startPage([...connection(), '-n', 'default'])
  return async (path: string, body?: object) => {
    const { status, json } = await page.send(path, body && { method: 'POST', body: JSON.stringify(body) })
    const answer = json() as { error?: { message: string } }
    expect(answer.error ? [] : schemaErrors(answer)).toEqual([])
    // biome-ignore lint/suspicious/noExplicitAny: the schema of the answer is checked above
    return { status, answer: answer as any, message: answer.error?.message }
  }
}

describe('the page of one namespace', () => {
  test('has the objects of the namespace, and names what it does not show', async () => {
    const read = await readPage()
    const { answer } = await read('/v1')
    expect(answer).toMatchObject({
      namespace: 'default',
      notice:
        'not shown, since you may not list them: clusterpropagationpolicies.policy.karmada.io, clusterresourcebindings.work.karmada.io, clusters.cluster.karmada.io, datasources.datadependency.volcano.sh, namespaces',
      totals: { claims: 1, workloads: 1, sources: 0 },
      unavailable: [],
    })
    expect((await read('/v1/workloads')).answer.items).toMatchObject([{ state: 'Narrowed', scheduled: ['member2'] }])
    expect(await read('/v1/clusters')).toMatchObject({
      status: 403,
      message: 'you may not list clusters.cluster.karmada.io; ask an administrator for this right',
    })
  })

  test('says of a claim what its status says, and not that there is no DataSource', async () => {
    const { answer } = await (await readPage())('/v1/claims')
    expect(answer.items).toMatchObject([
      {
        name: 'sales',
        location: 'Unknown',
        phase: 'Bound',
        source: 'orders',
        message:
          'you may not list datasources.datadependency.volcano.sh; the status of the claim says: the data is in member2',
      },
    ])
  })

  test('explains a workload by its stored decision, with the kinds that are not shown', async () => {
    const { answer } = await (await readPage())('/v1/explain/Deployment/app?namespace=default')
    const [first] = answer.object.children
    expect(answer.object.state).toBe('Narrowed')
    expect(first.text).toMatch(/^not shown, since you may not list them: /)
    expect(JSON.stringify(answer)).toContain('the status of the claim says: the data is in member2')
  })

  test('locates the workload with what is known', async () => {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }
    const { answer } = await (await readPage())('/v1/locate', { workload })
    expect(answer).toMatchObject({ decision: { state: 'Narrowed' }, claims: [{ state: 'Unknown' }] })
  })

  test('rejects checks and other namespaces with the way out', async () => {
    const read = await readPage()
    const files = [{ file: 'a.yaml', text: JSON.stringify(makeClaim()) }]
    expect((await read('/v1/check', { files })).message).toBe(
      'a check reads all namespaces; start lodestone ui without -n',
    )
    for (const path of ['/v1/claims', '/v1/history']) {
      expect((await read(`${path}?namespace=sales`)).message).toBe(
        'only namespace default is shown; for sales, start lodestone ui with -n sales',
      )
    }
  })
})

test('of a folder, the page shows the rows of the namespace', async () => {
  const other = makeClaim({}, { namespace: 'sales', name: 'hidden' })
  const page = await openPage([makeClaim(), other, makeSource()], ['-n', 'default'])
  expect((await page.send('/v1')).json()).toMatchObject({ namespace: 'default', totals: { claims: 1, sources: 1 } })
})

describe('lodestone status -n', () => {
  test('shows the namespace, and names what it does not show', async () => {
    const { status, stdout, stderr } = await runWords(['status', '-n', 'default', ...connection()])
    expect(status).toBe(0)
    expect(stdout).toContain('unknown: you may not list datasources')
    expect(stdout).not.toMatch(/SOURCES|SYSTEMS|hidden/)
    expect(stderr).toMatch(/^lodestone status: not shown, since you may not list them: .*namespaces\n$/)
  })

  test('leaves the permission of a claim open that a Namespace decides', async () => {
    server.put(
      TYPES[0] as never,
      makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'sales', name: 'app' } }),
    )
    const { stdout } = await runWords(['status', '-n', 'default', ...connection()])
    expect(stdout).not.toContain('not permitted')
  })
})

describe('lodestone explain', () => {
  const explain = (...words: string[]) => runWords(['explain', ...words, '-n', 'default', ...connection()])

  test.each(['deployment/app', 'dsc/sales'])('explains %s to a user with rights in its namespace', async (target) => {
    const { status, stdout } = await explain(target)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Deployment default\/app\n├─ not shown, since you may not list them: .*namespaces\n/)
    expect(stdout).toContain('the status of the claim says: the data is in member2')
    expect(stdout).toContain('ResourceBinding default/app-deployment: Narrowed')
  })

  test('says which right is missing for an object without a namespace', async () => {
    const { status, stderr } = await explain('datasource/orders')
    expect(status).toBe(1)
    expect(stderr).toMatch(/HTTP 403: .*; grant the user the verbs list and watch of \w+\n$/)
  })

  test('reads all namespaces for a user who may', async () => {
    server.permits = () => true
    expect((await explain('dsc/hidden')).stderr).toContain('it is in namespace sales: add -n sales')
  })
})

describe('a user with rights in one namespace', () => {
  test.each(['ui', 'status'])('gets the way out from lodestone %s', async (command) => {
    expect(await failureOf([command, ...connection()])).toMatch(
      /grant the user the verbs list and watch of \w+, or use -n NAMESPACE to see one namespace\n$/,
    )
  })

  test('gets the namespace of the context in the way out', async () => {
    const kubeconfig = makeKubeconfig(server.url, { namespace: 'team-a' })
    expect(await failureOf(['ui', '--kubeconfig', kubeconfig])).toContain('or use -n team-a to see one namespace')
  })

  test('gets an error in a namespace in which it may list nothing', async () => {
    expect(await failureOf(['ui', '-n', 'sales', ...connection()])).toMatch(
      /you may not list \S+ in namespace sales, and no other kind either; grant the user the verbs list and watch of /,
    )
  })
})

test.each([
  { words: ['-n', 'Team_A'], says: '-n Team_A: ' },
  { words: ['-n', 'default', '--login', 'token'], says: '-n and --login token exclude each other' },
])('$words are rejected', async ({ words, says }) => {
  expect(await failureOf(['ui', ...words, ...connection()])).toContain(says)
})

// A tenant with all rights in a namespace cannot make the API server store a Pod that looks like a mover; Lodestone and admins can.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { type Member, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { stopAndCheckRights } from './rights.ts'

const tenant = '--as=tenant'
let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  await cluster.plane.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    // Also rights on what does not exist, which a wildcard has.
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'all', namespace: 'shop' },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'all', namespace: 'shop' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'all' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'tenant' }],
    },
  ])
  await cluster.plane.eventually('the API server calls the webhook', async () => {
    const forged = podWith('first', { labels: { 'lodestone.dev/mover': 'download' } })
    return (await create(forged, tenant, '--dry-run=server')).includes('is reserved')
  })
  await cluster.s3.createBucket('lake')
  await cluster.s3.putObject('lake', 'train/a.txt', 'first')
})
afterAll(() => stopAndCheckRights({ plane: cluster?.plane, lodestones: [cluster?.lodestone] }))

function podWith(name: string, metadata: object): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', ...metadata },
    spec: { containers: [{ name: 'main', image: 'pause:1' }] },
  })
}

async function create(input: string, ...flags: string[]): Promise<string> {
  const { stdout, stderr } = await cluster.plane.kubectl(['create', ...flags, '-f', '-'], { input, allowFailure: true })
  return stdout + stderr
}

test('a download runs, so Lodestone has the right to create movers', async () => {
  await cluster.create(volumeManagerOf('train', s3Volume(cluster.proxy, 's3://lake/train/', { replicas: 1 })))
  const manager = await cluster.reached('train', 'Running')
  expect(cluster.nodesWith(manager.status?.volumes?.[0] as never)).toHaveLength(1)
})

test.each([
  ['label', { labels: { 'lodestone.dev/mover': 'download' } }, 'metadata.labels[lodestone.dev/mover]'],
  ['slot', { labels: { 'lodestone.dev/mover-slot': '0' } }, 'metadata.labels[lodestone.dev/mover-slot]'],
  ['task', { annotations: { 'lodestone.dev/mover-task': '{}' } }, 'metadata.annotations[lodestone.dev/mover-task]'],
])('a tenant cannot create a pod with the %s of a mover', async (name, metadata, path) => {
  expect(await create(podWith(name, metadata), tenant)).toContain(`${path}: is reserved for the movers of Lodestone`)
})

test('a tenant can create and label other pods, but cannot make one a mover later', async () => {
  const { plane } = cluster
  const label = async (text: string) => {
    const { stdout, stderr } = await plane.kubectl(['label', 'pod', 'plain', text, '-n', 'shop', tenant], {
      allowFailure: true,
    })
    return stdout + stderr
  }
  expect(await create(podWith('plain', { labels: { app: 'shop' } }), tenant)).toContain('pod/plain created')
  expect(await label('team=data')).toContain('pod/plain labeled')
  expect(await label('lodestone.dev/mover-slot=0')).toContain('is reserved for the movers of Lodestone')
})

test.each(['status', 'resize', 'ephemeralcontainers'])(
  'the subresource %s makes no pod a mover',
  async (subresource) => {
    const { plane } = cluster
    await create(podWith(`by-${subresource}`, { labels: { app: 'shop' } }), tenant)
    const metadata = {
      labels: { 'lodestone.dev/mover': 'delete', 'lodestone.dev/mover-slot': '0' },
      annotations: { 'lodestone.dev/mover-task': '{}' },
    }
    const patch = ['patch', 'pod', `by-${subresource}`, '-n', 'shop', '--subresource', subresource, '--type', 'merge']
    await plane.kubectl([...patch, '-p', JSON.stringify({ metadata }), tenant], { allowFailure: true })

    const { stdout } = await plane.kubectl(['get', 'pod', `by-${subresource}`, '-n', 'shop', '-o', 'yaml'])
    expect(stdout).not.toContain('lodestone.dev/mover')
  },
)

test('a binding makes no pod a mover', async () => {
  const { plane } = cluster
  const spec = { schedulerName: 'none', containers: [{ name: 'main', image: 'pause:1' }] }
  await plane.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bound', namespace: 'shop' }, spec }])
  const bind = async (metadata: object) => {
    const target = { apiVersion: 'v1', kind: 'Node', name: 'node-1' }
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'bound', ...metadata }, target }
    const path = '/api/v1/namespaces/shop/pods/bound/binding'
    const { stdout, stderr } = await plane.kubectl(['create', '--raw', path, '-f', '-', tenant], {
      input: JSON.stringify(binding),
      allowFailure: true,
    })
    return stdout + stderr
  }
  const isReserved = 'is reserved for the movers of Lodestone'

  expect(await bind({ annotations: { 'lodestone.dev/mover-task': '{}' } })).toContain(isReserved)
  expect(await bind({ labels: { 'lodestone.dev/mover-slot': '0' } })).toContain(isReserved)
  expect(await bind({ annotations: { other: 'x' } })).toContain('Success')
})

test('while Lodestone is away, forged movers are refused and other pods are not', async () => {
  await cluster.lodestone.stop()
  onTestFinished(() => cluster.lodestone.restart())
  expect(await create(podWith('later', { labels: { app: 'shop' } }), tenant)).toContain('pod/later created')
  expect(await create(podWith('forged', { labels: { 'lodestone.dev/mover': 'delete' } }), tenant)).toContain(
    'failed calling webhook "mover-pod.lodestone.dev"',
  )
  // For an admin, a restored backup for instance, the API server does not ask.
  expect(await create(podWith('restored', { labels: { 'lodestone.dev/mover': 'delete' } }))).toContain('created')
})

// Features of the controller of volumes that need a real API server and scheduler. They are logs from a node, a limit per node that the
// scheduler keeps, a configuration that changes at run time, and a fixed Secret.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Pod } from '../../src/api/pod.ts'
import { credentialsSecret, type Member, nodeNames, s3Volume, startMember, volumeManagerOf } from './member.ts'

// A foreign mover whose downloads never come to an end by themselves.
const SLOW = 'example.org/slow:1'
const slowCommand = ['sh', '-c', '[ "$1" = delete ] || exec sleep 600', 'mover']

let cluster: Member
let logs: NodeLogs

beforeAll(async () => {
  cluster = await startMember({
    images: { [SLOW]: slowCommand },
    volumes: { allowedMoverImages: [SLOW] },
    movers: { maxPerNode: 1 },
  })
  await cluster.s3.createBucket('lake')
  await cluster.s3.putObject('lake', 'train/a.txt', 'first')
  logs = await serveNodeLogs()
})
afterAll(() => cluster?.plane.stopAll())

interface NodeLogs {
  readonly asked: URL[]
}

// As the kubelets of all nodes serve it to the API server: the logs of the movers' processes.
async function serveNodeLogs(): Promise<NodeLogs> {
  const { plane } = cluster
  const asked: URL[] = []
  const { key, certificate } = await plane.pki.issue({
    name: 'kubelet',
    commonName: 'kubelet',
    ipAddresses: ['127.0.0.1'],
  })
  const server = createServer({ key, cert: certificate }, async (request, response) => {
    const url = new URL(request.url ?? '/', 'https://kubelet')
    asked.push(url)
    const [, , , pod = ''] = url.pathname.split('/')
    const folder = (await readdir(join(plane.dir, 'movers'))).find((name) => name.startsWith(`${pod}-`))
    response.setHeader('content-type', 'text/plain')
    response.end(folder && (await readFile(join(plane.dir, 'movers', folder, 'log'))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  plane.onStop(async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  }
  for (const name of nodeNames) {
    await plane.api.expect('PATCH', `/api/v1/nodes/${name}/status`, { status }, 'application/merge-patch+json')
  }
  return { asked }
}

interface Line {
  msg: string
  pod?: string
  line?: string
  [field: string]: unknown
}

async function logged(): Promise<Line[]> {
  const text = await cluster.lodestone.readLog()
  return text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))
}

async function moversOf(names: string[]): Promise<Pod[]> {
  return (await Promise.all(names.map((name) => cluster.moversOf(name)))).flat()
}

test('the log of a mover is in ours when it has ended, with the installed rights', async () => {
  await cluster.create(volumeManagerOf('train', s3Volume(cluster.proxy, 's3://lake/train/', { replicas: 2 })))
  await cluster.reached('train', 'Running')
  const ended = await cluster.plane.eventually('both logs are there', async () => {
    const all = await logged()
    const begun = all.filter((line) => line.msg === 'mover log begins' && line['manager'] === 'default/train')
    const pods = begun.map(({ pod = '' }) => pod)
    return pods.length === 2 && all.filter((line) => isEndOf(line, pods)).length === 2 && pods
  })

  const lines = await logged()
  for (const pod of ended) {
    const own = lines.filter((line) => line.pod === pod && line.msg.startsWith('mover log'))
    expect(own[0]).toMatchObject({ manager: 'default/train', id: 'vol1', role: 'replica', attempt: 1, exitCode: 0 })
    expect(own.map(({ line }) => line ?? '').join('\n')).toContain('"verb":"download"')
  }
  expect(
    logs.asked
      .filter(({ pathname }) => ended.some((pod) => pathname.includes(`/${pod}/`)))
      .map(({ pathname, searchParams }) => [pathname.split('/').at(-1), searchParams.get('tailLines')]),
  ).toEqual([
    ['mover', '100'],
    ['mover', '100'],
  ])
  await cluster.plane.eventually('no mover is left', async () => (await cluster.moversOf('train')).length === 0)
})

function isEndOf(line: Line, pods: string[]): boolean {
  return line.msg === 'mover log ends' && pods.includes(line.pod ?? '')
}

test('a limit of one mover for each node is kept by the scheduler, until it is two', async () => {
  const names = Array.from({ length: 7 }, (_, i) => `slow-${i}`)
  const runningMovers = async () => (await moversOf(names)).filter(({ status }) => status?.phase === 'Running')
  const volume = { ...s3Volume(cluster.proxy, 's3://lake/train/'), mover: { image: SLOW } }

  // The scheduler chooses among movers that come all at once.
  await Promise.all(names.map((name) => cluster.create(volumeManagerOf(name, volume))))
  const running = await cluster.plane.eventually('every node has a mover', async () => {
    const found = await runningMovers()
    return found.length >= nodeNames.length && found
  })
  expect(running.map(({ spec }) => spec.nodeName).sort()).toEqual(nodeNames)
  expect((await moversOf(names)).filter(({ spec }) => spec.nodeName)).toHaveLength(nodeNames.length)
  const states = await Promise.all(names.map(async (name) => (await cluster.volumeManager(name))?.status?.state))
  expect(states).toEqual(names.map(() => 'Pending'))

  // It needs no restart to allow more.
  const { pid } = cluster.lodestone
  await allowMoversPerNode(2)
  await cluster.plane.eventually('all movers run', async () => (await runningMovers()).length === names.length, 30_000)
  const perNode = Map.groupBy(await moversOf(names), ({ spec }) => spec.nodeName)
  expect(Math.max(...[...perNode.values()].map((pods) => pods.length))).toBe(2)
  expect(cluster.lodestone.pid).toBe(pid)
  await cluster.plane.eventually('the log says what changed', async () => {
    const change = { msg: 'configuration changed', keys: ['volumes.movers.maxPerNode'] }
    expect(await logged()).toContainEqual(expect.objectContaining(change))
    return true
  })

  // Movers that are no longer wanted are stopped, and leave nothing.
  await cluster.plane.kubectl(['delete', 'vmgr', ...names, '--wait=false'])
  await cluster.plane.eventually(
    'they are gone',
    async () => (await moversOf(names)).length === 0 && (await cluster.volumeManager('slow-0')) === undefined,
    90_000,
  )
})

async function allowMoversPerNode(maxPerNode: number): Promise<void> {
  const { configFile } = cluster.lodestone
  const config = parse(await readFile(configFile, 'utf8'))
  config.volumes.movers.maxPerNode = maxPerNode
  await writeFile(configFile, stringify(config))
}

test('a VolumeManager whose Secret was wrong has its data at once when that is fixed', async () => {
  const { plane, s3, proxy } = cluster
  await plane.apply(credentialsSecret('mended', s3.accessKey, 'wrong'))
  const volume = s3Volume(proxy, 's3://lake/train/', { options: { awsCredentialsSecretName: 'mended' } })
  await cluster.create(volumeManagerOf('mended', volume))
  const failed = await cluster.reached('mended', 'Failed')
  const [replica] = failed.status?.volumes?.[0]?.replicas ?? []
  expect(replica).toMatchObject({ reason: 'AccessDenied' })
  // The retry is not due yet: its delay is a minute after a failure that only a user can fix.
  expect(Date.parse(replica?.retryTime ?? '') - Date.parse(replica?.since ?? '')).toBe(60_000)

  await plane.apply(credentialsSecret('mended', s3.accessKey, s3.secretKey))

  await cluster.reached('mended', 'Running', 30_000)
})

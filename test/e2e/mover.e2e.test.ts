// The data mover as a process, as its Pod runs it: a real S3 server, and Events through a real API server.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { MoverResult } from '../../src/core/mover-contract/contract.ts'
import { readTerminationMessage } from '../../src/core/mover-contract/termination-message.ts'
import type { KubeObject } from './api-client.ts'
import { main } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { orSkip } from './peers/runtimes.ts'
import { type S3, startS3 } from './peers/s3.ts'

// The first run downloads and builds.
const firstRunMs = 20 * 60_000
const mover = 'system:serviceaccount:default:mover'
const reasons = ['Data-Path-Started', 'Data-Path-Completed', 'Data-Path-Stopped']

let plane: ControlPlane
let kubeconfig: string
let root: string

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  // No more than docs/guides/movers.md says that it takes.
  const rbac = { apiGroup: 'rbac.authorization.k8s.io' }
  await plane.apply([
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'mover', namespace: 'default' },
      rules: [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'mover', namespace: 'default' },
      roleRef: { ...rbac, kind: 'Role', name: 'mover' },
      subjects: [{ ...rbac, kind: 'User', name: mover }],
    },
  ] as KubeObject[])
  kubeconfig = await plane.kubeconfigFor(mover)
})

afterAll(async () => {
  await plane?.stopAll()
})

beforeEach(async () => {
  root = await mkdtemp(join(plane.dir, 'node-'))
})

test('downloads, uploads and deletes with a real server; Events and result show each', {
  timeout: firstRunMs,
}, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir))
  plane.onStop(() => s3.stop())
  await s3.createBucket('lake')
  const large = randomBytes(20 * 1024 * 1024 + 1)
  const files = { 'large.bin': large, 'a b+c&d/é.txt': Buffer.from('text'), empty: Buffer.alloc(0) }
  for (const [key, content] of Object.entries(files)) await s3.putObject('lake', `raw/${key}`, content)
  const many = Array.from({ length: 1100 }, (_, i) => i)
  while (many.length > 0)
    await Promise.all(many.splice(0, 16).map((i) => s3.putObject('lake', `raw/many/${i}`, `${i}`)))

  const down = await run(s3, 'download', ['--source', 's3://lake/raw/', '--target', join(root, 'data')], 'mover-of-all')

  expect(down.result).toMatchObject({ outcome: 'completed', attempt: 2, files: 1103 })
  for (const [key, content] of Object.entries(files)) {
    expect(content.equals(await readFile(join(root, 'data', key))), key).toBe(true)
  }
  expect(await readdir(join(root, 'data', 'many'))).toHaveLength(1100)
  // Only work that takes longer than ten seconds has Events about its progress.
  const events = (await eventsOf('mover-of-all')).filter(({ reason }) => reason !== 'Data-Path-Progress')
  expect(events.map(({ reason }) => reason).sort()).toEqual([...reasons].sort())
  expect(events.every(({ involvedObject }) => involvedObject.uid === 'u-1')).toBe(true)
  const completed = events.find(({ reason }) => reason === 'Data-Path-Completed')
  expect(JSON.parse(completed?.message ?? '')).toMatchObject({
    attempt: 2,
    doneBytes: down.result.bytes,
    doneFiles: 1103,
  })

  const words = ['--source', join(root, 'data'), '--target', 's3://lake/copy/']
  expect((await run(s3, 'upload', words)).result).toMatchObject({ outcome: 'completed', movedBytes: down.result.bytes })
  expect((await run(s3, 'upload', words)).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
  const copy = await s3.request('GET', '/lake/copy/large.bin')
  expect(copy.headers['content-length']).toBe(`${large.length}`)

  // A download returns the same bytes as the upload in parts.
  await run(s3, 'download', ['--source', 's3://lake/copy/large.bin', '--target', join(root, 'back')])
  expect(large.equals(await readFile(join(root, 'back', 'large.bin')))).toBe(true)

  // Parts that are too large for the memory are read while they are sent, and signed before.
  const streamed = ['--source', join(root, 'back'), '--target', 's3://lake/streamed/', '--part-size', '17Mi']
  expect((await run(s3, 'upload', streamed)).result).toMatchObject({ outcome: 'completed', movedBytes: large.length })
  await run(s3, 'download', ['--source', 's3://lake/streamed/large.bin', '--target', join(root, 'again')])
  expect(large.equals(await readFile(join(root, 'again', 'large.bin')))).toBe(true)

  await run(s3, 'delete', ['--target', join(root, 'data')])
  expect((await readdir(root)).filter((name) => name.includes('data'))).toEqual([])
})

test('a write-back keeps what a real server knows of an object', { timeout: firstRunMs }, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir, { name: 's3-kept' }))
  plane.onStop(() => s3.stop())
  await s3.createBucket('kept')
  const about = { 'content-type': 'text/csv', 'cache-control': 'no-cache', 'x-amz-meta-owner': 'sales team' }
  for (const name of ['small', 'large']) await s3.request('PUT', `/kept/data/${name}`, Buffer.from('old'), about)
  const target = ['--target', join(root, 'data')]
  expect((await run(s3, 'download', ['--source', 's3://kept/data/', ...target])).result.outcome).toBe('completed')
  const large = randomBytes(11 * 1024 * 1024)
  await writeFile(join(root, 'data', 'small'), 'new')
  await writeFile(join(root, 'data', 'large'), large)

  const words = ['--source', join(root, 'data'), '--target', 's3://kept/data/', '--part-size', '5Mi']
  expect((await run(s3, 'upload', words)).result).toMatchObject({ outcome: 'completed', movedBytes: large.length + 3 })

  for (const [name, bytes] of Object.entries({ small: 3, large: large.length })) {
    const { headers } = await s3.request('HEAD', `/kept/data/${name}`)
    expect(headers, name).toMatchObject({ ...about, 'content-length': `${bytes}` })
  }
})

test('a refusal of a real server is explained, in a Warning too, and names no secret', {
  timeout: firstRunMs,
}, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir, { name: 's3-refuses' }))
  plane.onStop(() => s3.stop())
  await s3.createBucket('lake')
  await s3.putObject('lake', 'raw/a', 'x')
  const words = ['--target', join(root, 'data')]
  const wrong = { ...s3, secretKey: 'not-the-secret' }

  const cases = [
    { with: wrong, source: 's3://lake/raw/', code: 'AccessDenied' },
    { with: { ...s3, accessKey: 'NOBODY' }, source: 's3://lake/raw/', code: 'AccessDenied' },
    { with: s3, source: 's3://ocean/raw/', code: 'NotFound' },
    { with: s3, source: 's3://lake/none/', code: 'NotFound' },
    { with: s3, source: 's3://lake/none', code: 'NotFound' },
  ]
  for (const { with: server, source, code } of cases) {
    const { status, result, said } = await run(server, 'download', ['--source', source, ...words], 'mover-refused')
    expect({ status, code: result.code }, source).toEqual({ status: 3, code })
    expect(said).not.toContain(server.secretKey)
  }
  const failed = (await eventsOf('mover-refused')).find(({ reason }) => reason === 'Data-Path-Failed')
  expect(failed).toMatchObject({ type: 'Warning', count: 1, message: expect.stringContaining('s3://lake/none') })
})

test.each(['CRC64NVME', 'CRC32C', 'CRC32', 'SHA256'])(
  'the %s of an object that a real server reports is checked',
  {
    timeout: firstRunMs,
  },
  async (algorithm) => {
    const s3 = await startS3(plane.dir, { name: `s3-${algorithm}` })
    plane.onStop(() => s3.stop())
    await s3.createBucket('lake')
    const header = `x-amz-checksum-${algorithm.toLowerCase()}`
    const bytes = { small: randomBytes(1000), large: randomBytes(300_000) }
    // The server computes it when it copies; were the mover to compute another one, it would not take the object.
    for (const [key, body] of Object.entries(bytes)) {
      await s3.putObject('lake', `given/${key}`, body)
      const copy = { 'x-amz-copy-source': `lake/given/${key}`, 'x-amz-checksum-algorithm': algorithm }
      const { status } = await s3.request('PUT', `/lake/raw/${key}`, undefined, copy)
      const { headers } = await s3.request('HEAD', `/lake/raw/${key}`, undefined, { 'x-amz-checksum-mode': 'ENABLED' })
      expect({ status, has: header in headers, type: headers['x-amz-checksum-type'] }).toEqual({
        status: 200,
        has: true,
        type: 'FULL_OBJECT',
      })
    }
    const words = ['--source', 's3://lake/raw/', '--target', join(root, 'data'), '--part-size', '64Ki']

    expect((await run(s3, 'download', words)).result).toMatchObject({ outcome: 'completed', files: 2 })

    for (const [key, body] of Object.entries(bytes))
      expect(body.equals(await readFile(join(root, 'data', key)))).toBe(true)
  },
)

test('an outage of the server and SIGKILL of the mover are followed by completion', {
  timeout: firstRunMs,
}, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir, { name: 's3-outage' }))
  plane.onStop(() => s3.stop())
  await s3.createBucket('lake')
  // Small parts and one at a time: slow enough for an outage to come in the middle.
  const [parts, part] = [2048, 64 * 1024]
  const large = randomBytes(parts * part)
  await s3.putObject('lake', 'raw/large', large)
  const words = ['--source', 's3://lake/raw/', '--target', join(root, 'data'), '--part-size', '64Ki', '--parallel', '1']
  const journal = join(root, '.data.mover', 'journal')
  const doneParts = async () => (await readFile(journal, 'utf8').catch(() => '')).match(/ \d+$/gm)?.length ?? 0
  const begun = (least: number) => plane.eventually('parts are done', async () => (await doneParts()) > least)

  const killed = start(s3, 'download', words)
  await begun(10)
  killed.child.kill('SIGKILL')
  await killed.ended
  const done = await doneParts()
  const second = start(s3, 'download', words)
  await begun(done + 10)
  await s3.stop()
  const atOutage = await doneParts()
  await s3.start()
  const { status, result } = await second.ended

  expect({ status, outcome: result.outcome, message: result.message }).toEqual({
    status: 0,
    outcome: 'completed',
    message: '1 files, 128.0 MiB',
  })
  expect(atOutage).toBeLessThan(parts)
  expect(status).toBe(0)
  expect(result.movedBytes).toBe((parts - done) * part)
  expect(large.equals(await readFile(join(root, 'data', 'large')))).toBe(true)
})

type Keys = Pick<S3, 'url' | 'accessKey' | 'secretKey'>

interface MoverEnd {
  status: number
  said: string
  result: MoverResult
}

function start(s3: Keys, verb: string, words: string[], pod = `mover-${verb}`) {
  const termination = join(root, 'termination')
  const fixed = ['--root', root, '--attempt', '2', '--keep-free', '0', '--termination-log', termination]
  const server = verb === 'delete' ? [] : ['--endpoint', s3.url, '--local-network', '127.0.0.0/8']
  const about = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'volume', uid: 'u-1' }
  const env = {
    PATH: process.env['PATH'],
    AWS_ACCESS_KEY_ID: s3.accessKey,
    AWS_SECRET_ACCESS_KEY: s3.secretKey,
    POD_NAME: pod,
    POD_NAMESPACE: 'default',
    NODE_NAME: 'node-1',
    EVENT_ABOUT: JSON.stringify(about),
  }
  const args = [main, 'mover', verb, ...fixed, ...server, '--kubeconfig', kubeconfig, ...words]
  let end = (_: MoverEnd) => {}
  const ended = new Promise<MoverEnd>((resolve) => {
    end = resolve
  })
  const child = execFile(process.execPath, args, { env, maxBuffer: 2 ** 24 }, async (_, stdout, stderr) => {
    const text = await readFile(termination, 'utf8').catch(() => '')
    end({ status: child.exitCode ?? -1, said: stdout + stderr, result: readTerminationMessage(text) as MoverResult })
  })
  return { child, ended }
}

const run = (...of: Parameters<typeof start>) => start(...of).ended

interface KubeEvent extends KubeObject {
  reason: string
  type: string
  message: string
  count: number
  reportingInstance: string
  involvedObject: { uid: string }
}

async function eventsOf(pod: string): Promise<KubeEvent[]> {
  return ((await plane.listJson('events')) as KubeEvent[]).filter((event) => event.reportingInstance === pod)
}

// Certificates in a Secret of a real API server: what replicas share, and that they agree.
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ApiConnection } from '../../src/store/cluster/api-connection.ts'
import { openClusterStore } from '../../src/store/cluster/cluster.ts'
import { openConnection } from '../../src/store/cluster/connection.ts'
import { openCertificates } from '../../src/tls/rotation.ts'
import { openSecretStorage } from '../../src/tls/secret-storage.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

const where = { namespace: 'lodestone-system', name: 'lodestone-certificates' }

let plane: ControlPlane
let connection: ApiConnection

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  await plane.kubectl(['create', 'namespace', where.namespace])
  // What the chart's Role grants, and no more.
  await plane.kubectl([
    'create',
    'role',
    'lodestone',
    '-n',
    where.namespace,
    '--verb=get,update',
    '--resource=secrets',
    `--resource-name=${where.name}`,
  ])
  await plane.kubectl([
    'create',
    'role',
    'lodestone-create',
    '-n',
    where.namespace,
    '--verb=create',
    '--resource=secrets',
  ])
  for (const role of ['lodestone', 'lodestone-create']) {
    await plane.kubectl(['create', 'rolebinding', role, '-n', where.namespace, `--role=${role}`, '--user=lodestone'])
  }
  connection = await openConnection({ kubeconfig: await plane.kubeconfigFor('lodestone') })
})

beforeEach(async () => {
  await plane.kubectl(['delete', 'secret', where.name, '-n', where.namespace, '--ignore-not-found'])
})

afterAll(async () => {
  await connection?.close()
  await plane?.stopAll()
})

function openReplica(options: { renewAuthority?: boolean } = {}) {
  const storage = openSecretStorage({ store: openClusterStore({ connection, kinds: [] }), ...where })
  return openCertificates({ storage, hosts: ['lodestone.lodestone-system.svc'], now: Date.now, ...options })
}

test('replicas that start at once end with one CA and one certificate', async () => {
  const replicas = await Promise.all([openReplica(), openReplica(), openReplica()])
  for (const replica of replicas) await replica.check()

  const served = replicas.map((replica) => replica.current())
  for (const replica of replicas) replica.stop()
  expect(new Set(served.map(({ certPem }) => certPem)).size).toBe(1)
  expect(new Set(served.map(({ caBundlePem }) => caBundlePem)).size).toBe(1)
  const [first] = served
  const certificate = new X509Certificate(first?.certPem ?? '')
  expect(certificate.checkHost('lodestone.lodestone-system.svc')).toBeDefined()
  expect(certificate.checkIssued(new X509Certificate(first?.caBundlePem ?? ''))).toBe(true)
})

test('a replica that starts later serves what is there', async () => {
  const first = await openReplica()
  const before = await plane.getJson('secrets', where.name, where.namespace)

  const later = await openReplica()
  for (const replica of [first, later]) replica.stop()

  expect(later.current()).toEqual(first.current())
  expect(await plane.getJson('secrets', where.name, where.namespace)).toEqual(before)
})

test('a new CA is published beside the one that still signs', async () => {
  const before = await openReplica()
  const after = await openReplica({ renewAuthority: true })
  for (const replica of [before, after]) replica.stop()

  expect(after.current().certPem).toBe(before.current().certPem)
  expect(after.current().caBundlePem?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
  expect(after.current().caBundlePem).toContain(before.current().caBundlePem?.trim())
})

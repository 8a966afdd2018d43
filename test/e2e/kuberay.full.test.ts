// The operator of KubeRay on a member: it creates the pods of the RayJob of docs/tutorials/ray.md, and they run where their data is.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { VOLUMES_ANNOTATION } from '../../src/api/lodestone.ts'
import type { Pod } from '../../src/api/pod.ts'
import type { KubeObject } from './api-client.ts'
import { ensureRayOperator, ensureWorkloadDefinitions } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { firstVolume, type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { freePorts, startProcess } from './processes.ts'

const volumes = JSON.stringify({ name: 'frames', 'mount-path': '/data' })
const nodesWithData = ['node-2', 'node-4']

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  const { plane } = cluster
  const definitions = join(await ensureWorkloadDefinitions(), 'kuberay')
  await plane.kubectl(['apply', '--server-side', '-f', definitions])
  await plane.crdsEstablished()
  await startRayOperator(plane)
  await cluster.putBucket('datasets', { '0.bin': 'pixels' }, 'frames/')
  const over = { replicas: 2, nodeAffinity: onNodes(...nodesWithData) }
  await cluster.create(volumeManagerOf('frames', s3Volume(cluster.proxy, 's3://datasets/frames/', over)))
})

afterAll(() => cluster?.plane.stopAll())

test('head and workers of a RayJob run on the nodes with the data, and have it mounted', async () => {
  const { plane } = cluster
  const [job, settings] = await objectsOfTutorial()
  await plane.apply([settings, credentials()])
  await plane.apply({ ...job, metadata: { ...job.metadata, annotations: { [VOLUMES_ANNOTATION]: volumes } } })

  const pods = await plane.eventually('the operator has created the pods, and they run', async () => {
    const found = ((await plane.listJson('pods', 'default')) as unknown as Pod[]).filter(isOfRay)
    expect(found.map(({ status }) => status?.phase)).toEqual(Array(5).fill('Running'))
    return found
  })

  const { volumeSource } = firstVolume(await cluster.reached('frames', 'Running'))
  for (const { metadata, spec } of pods) {
    expect(metadata['ownerReferences']).toMatchObject([{ kind: 'RayCluster', controller: true }])
    expect(nodesWithData).toContain(spec?.nodeName)
    const hostPath = { ...volumeSource?.hostPath, type: 'Directory' }
    expect(spec?.volumes).toContainEqual(expect.objectContaining({ hostPath }))
    expect(spec?.containers?.[0]?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: '/data' }))
  }
  expect(pods.map(({ metadata }) => metadata.labels?.['ray.io/node-type']).sort()).toEqual([
    'head',
    ...Array(4).fill('worker'),
  ])
})

/** Returns the RayJob and the ConfigMap of the page, in the namespace of the data. */
async function objectsOfTutorial(): Promise<[KubeObject, KubeObject]> {
  const objects = parseAllDocuments(await readFile('examples/ray/train.yaml', 'utf8')).map(
    (document) => document.toJS() as KubeObject,
  )
  const [job, settings] = ['RayJob', 'ConfigMap'].map((wanted) => objects.find(({ kind }) => kind === wanted))
  if (!job || !settings) throw new Error('examples/ray/train.yaml has no RayJob or no ConfigMap')
  const inDefault = (object: KubeObject) => ({ ...object, metadata: { ...object.metadata, namespace: 'default' } })
  return [inDefault(job), inDefault(settings)]
}

function credentials(): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bucket-credentials', namespace: 'default' } }
}

const isOfRay = ({ metadata }: Pod) => metadata.labels?.['ray.io/node-type'] !== undefined

/** Starts the operator with the rights of an administrator. It ends with the plane. */
async function startRayOperator(plane: ControlPlane): Promise<void> {
  const [port = 0] = await freePorts(1)
  const probes = `127.0.0.1:${port}`
  const running = await startProcess({
    name: 'ray-operator',
    command: await ensureRayOperator(),
    args: [`--health-probe-bind-address=${probes}`, '--metrics-addr=0', '--enable-leader-election=false'],
    cwd: plane.dir,
    env: { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: plane.kubeconfig },
    logFile: plane.logFile('ray-operator'),
    ready: async () => (await request(`http://${probes}/readyz`)).statusCode === 200,
    readyTimeoutMs: 120_000,
  })
  plane.onStop(() => running.stop(300))
}

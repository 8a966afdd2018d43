// The controller and webhooks of LeaderWorkerSet on a member: it creates the pods of the LeaderWorkerSet of docs/tutorials/models.md, and they
// run where their data is.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { VOLUMES_ANNOTATION } from '../../src/api/lodestone.ts'
import type { OwnerReference } from '../../src/api/meta.ts'
import type { Pod } from '../../src/api/pod.ts'
import type { KubeObject } from './api-client.ts'
import { ensureLeaderWorkerSet, ensureWorkloadDefinitions } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { freePorts, startProcess } from './processes.ts'

const SET_LABEL = 'leaderworkerset.sigs.k8s.io/name'
const EXCLUSIVE_ANNOTATION = 'leaderworkerset.sigs.k8s.io/exclusive-topology'
const nodesWithData = ['node-2', 'node-4']

interface LeaderWorkerSet extends KubeObject {
  spec: {
    replicas: number
    leaderWorkerTemplate: Record<'leaderTemplate' | 'workerTemplate', { spec: { containers: [{ image: string }] } }>
  }
}

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  const { plane } = cluster
  await plane.kubectl(['apply', '--server-side', '-f', join(await ensureWorkloadDefinitions(), 'lws')])
  await plane.crdsEstablished()
  await startController(plane)
  await cluster.putBucket('models', { '0.bin': 'weights' }, 'llama/')
  await createManager('llama')
})

// A set with nodes of its own shares them with no other set.
afterEach(() => cluster.plane.kubectl(['delete', 'leaderworkersets', '--all', '--cascade=foreground', '--timeout=60s']))
afterAll(() => cluster?.plane.stopAll())

test('leaders and workers wait for a later VolumeManager, and run where its data is', async () => {
  const set = await setOfTutorial('late', 2)
  const volumes = set.metadata.annotations?.[VOLUMES_ANNOTATION]?.replace('"llama"', '"later"')
  await cluster.plane.apply([withAnnotation(set, VOLUMES_ANNOTATION, volumes)])
  await cluster.plane.eventually('its pods are refused', async () => {
    const events = await cluster.plane.listJson('events', 'default')
    expect(events.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('there is no VolumeManager later'),
    )
    return true
  })

  await createManager('later')
  for (const pod of await podsThat('late', 'four pods run', areRunning(4))) expectData(pod)
})

test('the pods of a group share a node with the data when the set asks for it', async () => {
  const set = await setOfTutorial('exclusive', 2)
  await cluster.plane.apply([withAnnotation(set, EXCLUSIVE_ANNOTATION, 'kubernetes.io/hostname')])

  const pods = await podsThat('exclusive', 'four pods run', areRunning(4))
  for (const pod of pods) expectData(pod)
  const nodeOfGroup = (group: string) =>
    new Set(pods.filter((pod) => groupOf(pod) === group).map(({ spec }) => spec?.nodeName))
  expect([nodeOfGroup('0').size, nodeOfGroup('1').size]).toEqual([1, 1])
  expect(nodeOfGroup('0')).not.toEqual(nodeOfGroup('1'))
})

test('admission makes no revision, and a new image rolls out to pods with the data', async () => {
  const set = await setOfTutorial('rolling', 1)
  await cluster.plane.apply([set])
  await podsThat('rolling', 'two pods run', areRunning(2))
  expect(await revisionsOf('rolling')).toHaveLength(1)

  const { leaderTemplate, workerTemplate } = set.spec.leaderWorkerTemplate
  for (const { spec } of [leaderTemplate, workerTemplate]) spec.containers[0].image = 'registry.example.org/vllm:2'
  await cluster.plane.apply([set])
  const pods = await podsThat(
    'rolling',
    'two new pods run',
    (found) => areRunning(2)(found) && found.every(({ spec }) => spec?.containers?.[0]?.image?.endsWith(':2')),
  )
  for (const pod of pods) expectData(pod)
})

/** Returns the LeaderWorkerSet of the page, in the namespace of the data. */
async function setOfTutorial(name: string, replicas: number): Promise<LeaderWorkerSet> {
  const set = parse(await readFile('examples/models/leader-worker-set.yaml', 'utf8')) as LeaderWorkerSet
  expect(set.metadata.annotations).toHaveProperty([VOLUMES_ANNOTATION])
  return { ...set, metadata: { ...set.metadata, name, namespace: 'default' }, spec: { ...set.spec, replicas } }
}

function withAnnotation<T extends KubeObject>(object: T, key: string, value = ''): T {
  return { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [key]: value } } }
}

async function createManager(name: string): Promise<void> {
  const over = { replicas: 2, nodeAffinity: onNodes(...nodesWithData), readOnly: true }
  await cluster.create(volumeManagerOf(name, s3Volume(cluster.proxy, 's3://models/llama/', over)))
}

async function podsThat(set: string, what: string, test: (pods: Pod[]) => boolean): Promise<Pod[]> {
  const { plane } = cluster
  return plane.eventually(`${set}: ${what}`, async () => {
    const all = (await plane.listJson('pods', 'default')) as unknown as Pod[]
    const found = all.filter(({ metadata }) => metadata.labels?.[SET_LABEL] === set)
    if (!test(found)) throw new Error(JSON.stringify(found.map(({ metadata, status }) => [metadata.name, status])))
    return found
  })
}

const areRunning = (count: number) => (pods: Pod[]) =>
  pods.length === count && pods.every(({ status }) => status?.phase === 'Running')

const groupOf = ({ metadata }: Pod) => metadata.labels?.['leaderworkerset.sigs.k8s.io/group-index']

const revisionsOf = async (set: string) =>
  (await cluster.plane.listJson('controllerrevisions.apps', 'default')).filter(
    ({ metadata }) =>
      metadata.labels?.[SET_LABEL] === set &&
      (metadata['ownerReferences'] as OwnerReference[]).some(({ kind }) => kind === 'LeaderWorkerSet'),
  )

function expectData({ spec }: Pod): void {
  expect(nodesWithData).toContain(spec?.nodeName)
  expect(spec?.volumes).toContainEqual(expect.objectContaining({ hostPath: expect.anything() }))
  expect(spec?.containers?.[0]?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: '/mnt/models' }))
}

/** Starts the controller with the rights of an administrator, and registers its webhooks. It ends with the plane. */
async function startController(plane: ControlPlane): Promise<void> {
  const [healthPort = 0, webhookPort = 0] = await freePorts(2)
  const certificates = join(plane.dir, 'lws-certs')
  await mkdir(certificates)
  const { certificate, key } = await plane.pki.issue({
    name: 'lws-webhook',
    commonName: 'lws-webhook',
    ipAddresses: ['127.0.0.1'],
  })
  await writeFile(join(certificates, 'tls.crt'), certificate)
  await writeFile(join(certificates, 'tls.key'), key)
  const configFile = join(plane.dir, 'lws.yaml')
  const config = {
    apiVersion: 'config.lws.x-k8s.io/v1alpha1',
    kind: 'Configuration',
    health: { healthProbeBindAddress: `127.0.0.1:${healthPort}` },
    webhook: { host: '127.0.0.1', port: webhookPort, certDir: certificates },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
  }
  await writeFile(configFile, stringify(config))
  const running = await startProcess({
    name: 'lws',
    command: await ensureLeaderWorkerSet(),
    args: [`--config=${configFile}`, '--metrics-bind-address=0'],
    cwd: plane.dir,
    env: { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: plane.kubeconfig },
    logFile: plane.logFile('lws'),
    ready: async () => (await request(`http://127.0.0.1:${healthPort}/readyz`)).statusCode === 200,
    readyTimeoutMs: 120_000,
  })
  plane.onStop(() => running.stop(300))
  await plane.apply([
    webhooks(plane, webhookPort, 'Mutating', 'mutate'),
    webhooks(plane, webhookPort, 'Validating', 'validate'),
  ])
}

// As LeaderWorkerSet installs them (lws, config/webhook).
function webhooks({ pki }: ControlPlane, port: number, kind: string, verb: string): KubeObject {
  const webhook = (name: string, path: string, rule: object, over: object = {}) => ({
    name: `${name}.kb.io`,
    admissionReviewVersions: ['v1'],
    clientConfig: { url: `https://127.0.0.1:${port}/${verb}${path}`, caBundle: pki.caBundle },
    failurePolicy: 'Fail',
    rules: [rule],
    sideEffects: 'None',
    ...over,
  })
  const ofSets = { apiGroups: ['leaderworkerset.x-k8s.io'], apiVersions: ['v1'], resources: ['leaderworkersets'] }
  const ofPods = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }
  const objectSelector = { matchExpressions: [{ key: SET_LABEL, operator: 'Exists' }] }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: `lws-${verb}` },
    webhooks: [
      webhook('sets', '-leaderworkerset-x-k8s-io-v1-leaderworkerset', { ...ofSets, operations: ['CREATE', 'UPDATE'] }),
      webhook('pods', '--v1-pod', ofPods, { objectSelector }),
    ],
  } as KubeObject
}

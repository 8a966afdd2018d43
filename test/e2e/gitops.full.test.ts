// GitOps with the code of Argo CD and Flux: objects do not drift, syncs change nothing, and the health of our kinds is right.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { chart, namespace, namespaceOf, openHelm } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import {
  documentedSettings,
  type Gitops,
  gitopsOn,
  type Health,
  healthOf,
  type Settings,
  TOOLS,
  type Tool,
} from './gitops.ts'
import { hubOn } from './hub.ts'
import { installLodestone, type Lodestone, lodestoneUser, startLodestone } from './lodestone.ts'
import { claim, configMap, deployment, only, policy, secret, source } from './manifests.ts'
import { credentialsSecret, publicVolume } from './member.ts'
import { diskPressure } from './nodes.ts'

const repository = join(import.meta.dirname, '..', '..')
const { release: releaseSettings, all: allSettings, script } = documentedSettings()

const objectsOf = (text: string) =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? [])

/** As in git: examples have a status where no controller runs. */
async function examples(...files: string[]): Promise<KubeObject[]> {
  const texts = await Promise.all(files.map((file) => readFile(join(repository, 'examples', file), 'utf8')))
  return texts.flatMap(objectsOf).map(({ status: _, ...object }) => object)
}

/** The objects of a release, without those that only Helm and hooks of Argo CD create. */
async function chartObjects(values: object): Promise<KubeObject[]> {
  const helm = await openHelm()
  const words = ['template', 'lodestone', chart, '--kube-version', '1.35.0', '--skip-tests']
  const { stdout, stderr, code } = await helm.run(words, values)
  await helm.close()
  if (code !== 0) throw new Error(stderr)
  return objectsOf(stdout).filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined)
}

/** The lines of docs/guides/gitops.md for objects that Flux may not change: in a Kustomization, and in the chart of a HelmRelease. */
const CREATED_ONLY = {
  'kustomize.toolkit.fluxcd.io/ssa': 'IfNotPresent',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
}

function createdOnly(object: KubeObject): KubeObject {
  const annotations = { ...object.metadata.annotations, ...CREATED_ONLY }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

const isDefinition = ({ kind }: KubeObject) => kind === 'CustomResourceDefinition' || kind === 'Namespace'

async function startFor(
  tool: Tool,
  plane: ControlPlane,
  release: KubeObject[],
  config: object,
): Promise<[Gitops, Lodestone]> {
  const gitops = await gitopsOn(plane, tool)
  await plane.apply(namespaceOf(namespace))
  await gitops.sync(release.filter(isDefinition))
  await plane.crdsEstablished()
  await gitops.sync(release.filter((object) => !isDefinition(object)))
  const kubeconfig = await plane.kubeconfigFor(lodestoneUser)
  return [gitops, await startLodestone(plane, { kubeconfig, config: { ...config } })]
}

/** Each object as it is stored, by its resourceVersion. */
async function versionsOf(plane: ControlPlane, objects: readonly KubeObject[]): Promise<Record<string, unknown>> {
  const stored = await Promise.all(objects.map((object) => storedOf(plane, object)))
  return Object.fromEntries(
    stored.map((object, i) => [
      `${objects[i]?.kind} ${objects[i]?.metadata.name}`,
      object?.metadata['resourceVersion'],
    ]),
  )
}

async function storedOf(
  plane: ControlPlane,
  { apiVersion, kind, metadata }: KubeObject,
): Promise<KubeObject | undefined> {
  const [version, group] = apiVersion.split('/').reverse()
  const resource = group ? `${kind}.${version}.${group}` : kind
  const place = metadata.namespace ? ['-n', metadata.namespace] : ['-n', namespace]
  const { stdout } = await plane.kubectl(['get', resource, metadata.name, ...place, '-o', 'json', '--ignore-not-found'])
  return stdout === '' ? undefined : (JSON.parse(stdout) as KubeObject)
}

/** Syncs twice, and returns which objects changed. */
async function changedBySyncs({ plane, gitops, objects, settings }: Synced): Promise<string[]> {
  const before = await versionsOf(plane, objects)
  for (const _ of [1, 2]) await gitops.sync(objects, settings)
  const after = await versionsOf(plane, objects)
  return Object.keys(before).filter((name) => before[name] !== after[name])
}

interface Synced {
  plane: ControlPlane
  gitops: Gitops
  objects: readonly KubeObject[]
  isSettled: () => Promise<void>
  settings: Settings
  /** The differences without the lines of the page. */
  drifts: Record<string, unknown>
}

/** With a server-side diff, only the lines for the chart are needed. */
function settingsFor(tool: Tool): Settings {
  return tool === 'argocd-server-side' ? releaseSettings : allSettings
}

function testDrift(synced: () => Synced): void {
  test('with the lines of the page no object drifts, and further syncs change nothing', async () => {
    const { gitops, objects, isSettled, settings, drifts } = synced()
    expect(await gitops.diff(objects)).toEqual(drifts)
    expect(await gitops.diff(objects, settings)).toEqual({})

    // A controller may write a status meanwhile.
    await expect.poll(() => changedBySyncs(synced()), { timeout: 240_000 }).toEqual([])
    await isSettled()
    expect(await gitops.diff(objects, settings)).toEqual({})
  })
}

/** The list that the CRD of Karmada requires, which Flux does not change by the annotation of the chart; and a default of Karmada's webhook. */
const onHub: Record<Tool, Synced['drifts']> = {
  argocd: registration(),
  'argocd-structured-merge': {
    ...registration(),
    'PropagationPolicy/demo/trainer': ['remove /spec/resourceSelectors/0/namespace'],
    'PropagationPolicy/demo/reader': ['remove /spec/resourceSelectors/0/namespace'],
  },
  'argocd-server-side': registration(),
  flux: {},
  'flux-helm': {},
}

function registration(): Synced['drifts'] {
  return { 'ResourceInterpreterWebhookConfiguration//lodestone': ['remove /webhooks/0'] }
}

const narrowed = {
  'Pod/demo/trainer': [requirement('/spec', 0), requirement('/spec', 1)],
  'DaemonSet/demo/linux-agent': [requirement('/spec/template/spec', 0)],
}

/** The requirements that admission adds to each term that a user wrote. In a dry run of the API server, admission adds them as well. */
const inCluster: Record<Tool, Synced['drifts']> = {
  argocd: narrowed,
  'argocd-structured-merge': narrowed,
  'argocd-server-side': {},
  flux: {},
  'flux-helm': {},
}

function requirement(podSpec: string, term: number): string {
  const terms = 'affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms'
  return `remove ${podSpec}/${terms}/${term}/matchExpressions/1`
}

describe.each(TOOLS)('on a hub, %s', (tool) => {
  let plane: ControlPlane
  let gitops: Gitops
  let release: KubeObject[]
  let own: KubeObject[]

  beforeAll(async () => {
    plane = await startControlPlane({ garbageCollector: true })
    release = await chartObjects({ mode: 'hub-objects' })
    ;[gitops] = await startFor(tool, plane, release, {})
    await plane.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo' } })
    own = [
      ...(await examples('hub/claim.yaml', 'hub/policy.yaml', 'hub/source.yaml', 'hub/workload.yaml')),
      ...[configMap('settings', { namespace: 'demo' }), secret('token', { namespace: 'demo' })],
      deployment('reader', { needs: [configMap('settings', { namespace: 'demo' })], namespace: 'demo' }),
      policy('reader', { namespace: 'demo' }),
      source('prices', ['member1']),
      claim('reader', { data: 'prices', namespace: 'demo' }),
    ]
    await gitops.sync(own)
    for (const [name, member] of [
      ['trainer', 'member2'],
      ['reader', 'member1'],
    ] as const) {
      await hubOn(plane).isOnlyIn({ ...deployment(name), metadata: { name, namespace: 'demo' } }, member)
    }
    await isSettled()
  })
  afterAll(() => plane?.stopAll())

  async function isSettled(): Promise<void> {
    await plane.eventually('Lodestone has written what it writes', async () => {
      const found = await Promise.all([
        plane.getJson('propagationpolicies', 'trainer', 'demo'),
        plane.getJson('datasourceclaims', 'orders', 'demo'),
        plane.getJson('resourceinterpreterwebhookconfigurations', 'lodestone'),
        plane.getJson('mutatingwebhookconfigurations', 'lodestone'),
      ])
      const text = JSON.stringify(found)
      const has = (part: string) => text.includes(part)
      return ['"propagateDeps":true', 'lodestone.dev/claim', '"caBundle"', '"WorkloadPlaced"'].every(has)
    })
  }

  testDrift(() => ({
    plane,
    gitops,
    objects: [...release, ...own],
    isSettled,
    settings: settingsFor(tool),
    drifts: onHub[tool],
  }))

  test.runIf(tool === 'flux-helm')('without the annotation of the chart, what the leader writes drifts', async () => {
    const kind = 'ResourceInterpreterWebhookConfiguration'
    const annotation = 'helm.toolkit.fluxcd.io/driftDetection'
    const annotate = (word: string) => plane.kubectl(['annotate', kind, 'lodestone', word])
    const bare = release
      .filter((object) => object.kind === kind)
      .map(({ metadata: { annotations: _, ...metadata }, ...object }) => ({ ...object, metadata }))
    await annotate(`${annotation}-`)
    onTestFinished(async () => void (await annotate(`${annotation}=disabled`)))
    const [found] = Object.values(await gitops.diff(bare))
    expect(found).toContainEqual(expect.stringContaining('/webhooks'))
  })
})

describe.each(TOOLS)('in a cluster, %s', (tool) => {
  const nodeNames = ['node-1', 'node-2', 'node-3']
  const terms = [{ matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] }]
  const volumes = { 'lodestone.dev/volumes': '{"name": "mnist", "mount-path": "/data"}' }
  let plane: ControlPlane
  let gitops: Gitops
  let release: KubeObject[]
  let own: KubeObject[]

  beforeAll(async () => {
    plane = await startControlPlane({ karmada: false, nodes: { names: nodeNames, movers: 'succeed' } })
    const registration = { mode: 'url', url: 'https://127.0.0.1:9443' }
    release = await chartObjects({ mode: 'member', registration, config: { volumes: { enabled: true } } })
    ;[gitops] = await startFor(tool, plane, release, {
      volumes: { enabled: true },
      dependencies: { distribution: 'none' },
    })
    await plane.apply(namespaceOf('demo'))
    own = [
      credentialsSecret('aws-creds', 'key', 'secret', 'demo'),
      ...(await examples('member/volumes.yaml')).filter(({ metadata }) => metadata.name !== 'corpus'),
      ...(await examples('member/workloads.yaml')).flatMap((object) => {
        if (object.metadata.name !== 'trainer') return object
        // The dry run of a server-side diff would change the node affinity of a pod, which Kubernetes rejects.
        if (tool === 'argocd-server-side') return []
        return tool.startsWith('flux') ? createdOnly(object) : object
      }),
      workload('DaemonSet', 'agent', {}),
      workload('DaemonSet', 'linux-agent', {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
      }),
      workload('Job', 'batch', { restartPolicy: 'Never' }),
    ]
    // A pod is rejected before its VolumeManager exists, also in a dry run.
    await gitops.sync(own.filter(({ kind }) => kind !== 'Pod'))
    await plane.eventually('the pods are created', async () => (await gitops.sync(own)).length > 0)
    await isSettled()
  })
  afterAll(() => plane?.stopAll())

  function workload(kind: string, name: string, podSpec: object): KubeObject {
    const labels = { app: name }
    const [apiVersion, more] = kind === 'Job' ? ['batch/v1', {}] : ['apps/v1', { selector: { matchLabels: labels } }]
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'main:1' }], ...podSpec } }
    return {
      apiVersion,
      kind,
      metadata: { name, namespace: 'demo', annotations: volumes },
      spec: { ...more, template },
    }
  }

  async function isSettled(): Promise<void> {
    await plane.eventually('data is on nodes, and pods have it', async () => {
      const managers = await plane.listJson('volumemanagers.vck.intelai.org', 'demo')
      const states = managers.map(({ status }) => (status as { state?: string } | undefined)?.state)
      const [pods, daemonSets] = [await plane.listJson('pods', 'demo'), await plane.listJson('daemonsets', 'demo')]
      const isGated = JSON.stringify(pods).includes('schedulingGates')
      const narrowed = daemonSets.filter((one) => JSON.stringify(one['spec']).includes('vck.intelai.org'))
      return states.join() === 'Running,Running' && !isGated && narrowed.length === 2
    })
  }

  testDrift(() => ({
    plane,
    gitops,
    objects: [...release, ...own],
    isSettled,
    settings: settingsFor(tool),
    drifts: inCluster[tool],
  }))
})

describe('health', () => {
  const claims = 'datasourceclaims.datadependency.volcano.sh'
  const sources = 'datasources.datadependency.volcano.sh'

  /** As `kstatus health` for each object. */
  async function healthOfAll(plane: ControlPlane, kind: string): Promise<Record<string, string>> {
    const objects = await plane.listJson(kind)
    const found: Health[] = await healthOf(
      plane,
      objects.map((object) => ({ ...typeOf(kind), ...object })),
      script,
    )
    return Object.fromEntries(
      found.map(({ object, kstatus, health }) => [object.split('/')[2], `${kstatus} ${health}`]),
    )
  }

  const typeOf = (kind: string) =>
    kind.startsWith('volumemanagers')
      ? { apiVersion: 'vck.intelai.org/v1alpha1', kind: 'VolumeManager' }
      : {
          apiVersion: 'datadependency.volcano.sh/v1alpha1',
          kind: kind === claims ? 'DataSourceClaim' : 'DataSource',
        }

  async function hasHealth(plane: ControlPlane, kind: string, want: Record<string, string>): Promise<void> {
    await expect.poll(() => healthOfAll(plane, kind), { timeout: 60_000 }).toEqual(want)
  }

  const unavailable = { status: { phase: 'Unavailable' } }

  async function makeUnavailable(plane: ControlPlane, name: string): Promise<void> {
    const patch = JSON.stringify(unavailable)
    await plane.kubectl(['patch', sources, name, '--subresource=status', '--type=merge', '-p', patch])
  }

  test('a claim or a source is current only when its data is located', async () => {
    const plane = await startControlPlane()
    try {
      const kubeconfig = await installLodestone(plane)
      const hub = hubOn(plane)
      await plane.apply([claim('located', { data: 'located' }), claim('waiting', { data: 'waiting' })])
      await plane.apply([source('located', ['member2']), source('gone', ['member2'])])
      const isNew = 'InProgress Progressing'
      await hasHealth(plane, claims, { located: isNew, waiting: isNew })
      await hasHealth(plane, sources, { located: isNew, gone: isNew })

      const lodestone = await startLodestone(plane, { kubeconfig })
      await hub.apply(
        claim('held', { data: 'located' }),
        policy('held', { placement: only('member1') }),
        deployment('held'),
      )
      await hub.apply(claim('failed', { data: 'gone' }))
      await makeUnavailable(plane, 'gone')
      await hasHealth(plane, claims, {
        located: 'Current Healthy',
        waiting: isNew,
        held: isNew,
        failed: 'Failed Degraded',
      })
      await hasHealth(plane, sources, { located: 'Current Healthy', gone: 'Failed Degraded' })

      await lodestone.stop()
      const patch = '{"spec":{"dataSourceName":"other"}}'
      await plane.kubectl(['patch', claims, 'located', '--type=merge', '-p', patch])
      await plane.kubectl(['delete', claims, 'waiting', '--wait=false'])
      await hasHealth(plane, claims, {
        located: isNew,
        waiting: 'Terminating Progressing',
        held: isNew,
        failed: 'Failed Degraded',
      })
    } finally {
      await plane.stopAll()
    }
  })

  test('with CRDs of volcano-global, a claim has the same health after its first status', async () => {
    const plane = await startControlPlane()
    try {
      const kubeconfig = await installLodestone(plane)
      const definitions = await readFile(join(repository, 'test', 'data', 'deploy-guide', 'upstream-crds.yaml'), 'utf8')
      await plane.kubectl(['replace', '-f', '-'], { input: definitions })
      await plane.crdsEstablished()
      await plane.apply([source('located', ['member2']), claim('located', { data: 'located' })])
      await plane.apply(claim('waiting', { data: 'waiting' }))
      await hasHealth(plane, claims, { located: 'Current Progressing', waiting: 'Current Progressing' })

      await startLodestone(plane, { kubeconfig })
      await hasHealth(plane, claims, { located: 'Current Healthy', waiting: 'InProgress Progressing' })
    } finally {
      await plane.stopAll()
    }
  })

  test('a VolumeManager is current when pods can use its data', async () => {
    const kind = 'volumemanagers.vck.intelai.org'
    const plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1', 'node-2'], movers: 'succeed' } })
    try {
      const kubeconfig = await installLodestone(plane)
      await diskPressure(plane, 'node-2', 'True')
      await plane.apply([publicVolume('ready', 'node-1'), publicVolume('waiting', 'node-2')])
      const { spec, ...failed } = publicVolume('failed', 'node-1') as KubeObject & { spec: object }
      await plane.apply({ ...failed, spec: { ...spec, state: 'Failed' } })
      const isNew = 'InProgress Progressing'
      await hasHealth(plane, kind, { ready: isNew, waiting: isNew, failed: isNew })

      const lodestone = await startLodestone(plane, { kubeconfig, config: { volumes: { enabled: true } } })
      await hasHealth(plane, kind, { ready: 'Current Healthy', waiting: isNew, failed: 'Failed Degraded' })

      await lodestone.stop()
      await plane.kubectl(['delete', kind, 'ready', '--wait=false'])
      await hasHealth(plane, kind, { ready: 'Terminating Progressing', waiting: isNew, failed: 'Failed Degraded' })
    } finally {
      await plane.stopAll()
    }
  })
})

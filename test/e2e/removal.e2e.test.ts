// Values that Lodestone wrote into workloads and policies are removed with their cause, for each tool that writes manifests.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { PodTemplate } from '../../src/api/pod.ts'
import type { KubeObject } from './api-client.ts'
import { type Helm, helmOn } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, type SpecObject } from './manifests.ts'
import { publicVolume } from './member.ts'
import { stopAndCheckRights } from './rights.ts'

const VOLUMES = 'lodestone.dev/volumes'
const MNIST = '{"name": "mnist", "mount-path": "/data"}'
const OTHER = '{"name": "mnist", "mount-path": "/other"}'

let plane: ControlPlane
let helm: Helm
let chart: string

/** Each tool writes the manifest of one object, and later another one of the same object. */
const tools: Record<string, (object: KubeObject) => Promise<unknown>> = {
  apply: (object) => plane.kubectl(['apply', '-f', '-'], { input: stringify(object) }),
  'apply --server-side': (object) => plane.kubectl(['apply', '--server-side', '-f', '-'], { input: stringify(object) }),
  replace: async (object) => {
    const created = await plane.tryCreate(object)
    return created.code === 0 || plane.kubectl(['replace', '-f', '-'], { input: stringify(object) })
  },
  helm: async (object) => {
    const name = object.metadata.name.toLowerCase()
    const result = await helm.run(['upgrade', name, chart, '--install', '--create-namespace'], { object })
    if (result.code !== 0) throw new Error(result.stderr)
  },
}
const names = Object.keys(tools)
const write = (tool: string, object: KubeObject) => (tools[tool] as (typeof tools)[string])(object)
const nameFor = (tool: string, what: string) => `${tool.replace(/\W+/g, '-')}-${what}`

/** A chart whose only object is its value. */
async function openHelm(): Promise<void> {
  helm = await helmOn(plane)
  plane.onStop(() => helm.close())
  chart = join(plane.dir, 'any')
  await mkdir(join(chart, 'templates'), { recursive: true })
  await writeFile(join(chart, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: 'any', version: '1.0.0' }))
  await writeFile(join(chart, 'templates', 'object.yaml'), '{{ toYaml .Values.object }}\n')
}

describe('in a cluster', () => {
  let lodestone: Lodestone

  beforeAll(async () => {
    plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1', 'node-2'], movers: 'succeed' } })
    const kubeconfig = await installLodestone(plane)
    lodestone = await startLodestone(plane, { kubeconfig, config: { volumes: { enabled: true } } })
    await openHelm()
    await plane.apply([publicVolume('mnist'), publicVolume('deleted')])
    await plane.eventually('the data is on a node', async () =>
      (await Promise.all(['mnist', 'deleted'].map(stateOf))).every((state) => state === 'Running'),
    )
  })
  afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

  test.each(names)('a Deployment without requests for volumes has the template of its manifest: %s', async (tool) => {
    const name = nameFor(tool, 'own')
    await write(tool, workload('Deployment', name, { own: MNIST }))
    expect(await annotationOf('deployments', name)).toBe(MNIST)

    await write(tool, workload('Deployment', name, { own: OTHER }))
    expect(await annotationOf('deployments', name)).toBe(OTHER)

    await write(tool, workload('Deployment', name))
    expect((await templateOf('deployments', name)).metadata).toEqual({ labels: { app: name } })
  })

  test.each(names)('a template that no longer requests volumes is not selected any more: %s', async (tool) => {
    const name = nameFor(tool, 'template')
    await write(tool, workload('Deployment', name, { inTemplate: MNIST }))
    await write(tool, workload('Deployment', name))

    expect((await templateOf('deployments', name)).metadata).toEqual({ labels: { app: name } })
  })

  test.each(names)('the annotation that the user wrote in the template stays: %s', async (tool) => {
    const name = nameFor(tool, 'both')
    await write(tool, workload('Deployment', name, { own: MNIST, inTemplate: OTHER }))
    await write(tool, workload('Deployment', name, { inTemplate: OTHER }))

    expect(await annotationOf('deployments', name)).toBe(OTHER)
  })

  // Helm leaves no manifest in the object: the unit tests show its warning.
  test.each(names.filter((tool) => tool !== 'helm'))('an annotation can move into the template: %s', async (tool) => {
    const name = nameFor(tool, 'moved')
    await write(tool, workload('Deployment', name, { own: MNIST }))
    await write(tool, workload('Deployment', name, { inTemplate: MNIST }))

    expect(await annotationOf('deployments', name)).toBe(MNIST)
  })

  test.each(names)('a DaemonSet that no longer requests volumes may run on all nodes again: %s', async (tool) => {
    const name = nameFor(tool, 'nodes')
    await write(tool, workload('DaemonSet', name, { own: MNIST }))
    expect((await templateOf('daemonsets', name)).spec).toHaveProperty('affinity')

    await write(tool, workload('DaemonSet', name))
    const { metadata, spec } = await templateOf('daemonsets', name)
    expect(metadata).toEqual({ labels: { app: name } })
    expect(spec).not.toHaveProperty('affinity')
  })

  test('a workload leaves the data of a deleted VolumeManager, which is deleted then', async () => {
    await write('apply', workload('Deployment', 'leaves', { own: '{"name": "deleted"}' }))
    await plane.eventually('a pod uses the data', async () => (await podsOf('leaves')).some(mountsData))
    await plane.kubectl(['delete', 'vmgr', 'deleted', '--wait=false'])
    await plane.eventually('the deletion waits for the pod', async () =>
      JSON.stringify(await read('deleted')).includes('leaves'),
    )

    await write('apply', workload('Deployment', 'leaves'))

    await plane.eventually('the VolumeManager is deleted', async () => !(await read('deleted')))
    const pods = await podsOf('leaves')
    expect(pods.filter((pod) => !pod.metadata['deletionTimestamp'] && mountsData(pod))).toEqual([])
  })
})

describe('on a hub', () => {
  let lodestone: Lodestone

  beforeAll(async () => {
    plane = await startControlPlane()
    const config = { placement: { releaseDelaySeconds: 0 } }
    lodestone = await startLodestone(plane, { kubeconfig: await installLodestone(plane), config })
    await openHelm()
  })
  afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

  // Karmada rejects the replacement of a policy without its permanent id.
  test.each(names.filter((tool) => tool !== 'replace'))(
    'propagateDeps is removed from a policy with the last claim: %s',
    async (tool) => {
      const name = nameFor(tool, 'policy')
      await plane.apply([deployment(name), claim(name, { data: name })])
      await write(tool, policy(name))
      await plane.eventually('the policy propagates', async () => (await policyOf(name)).spec['propagateDeps'])
      // The manifest without the field, again.
      await write(tool, policy(name))
      expect((await policyOf(name)).spec['propagateDeps']).toBe(true)

      await plane.kubectl(['delete', 'dsc', name, '--wait=false'])

      await plane.eventually('the field is gone', async () => !('propagateDeps' in (await policyOf(name)).spec))
      expect(JSON.stringify((await policyOf(name)).metadata.annotations ?? {})).not.toContain('"lodestone.dev/')
    },
  )

  test.each(['apply', 'apply --server-side'])('propagateDeps that the user declares stays: %s', async (tool) => {
    const name = nameFor(tool, 'declared')
    const beside = nameFor(tool, 'beside')
    await plane.apply([name, beside].flatMap((each) => [deployment(each), claim(each, { data: each })]))
    await write(tool, policy(name))
    await write(tool, policy(beside))
    for (const each of [name, beside]) {
      await plane.eventually(`${each} propagates`, async () => (await policyOf(each)).spec['propagateDeps'])
    }
    await write(tool, policy(name, { propagateDeps: true }))

    await plane.kubectl(['delete', 'dsc', name, beside, '--wait=false'])

    await plane.eventually(
      'the other policy loses the field',
      async () => !('propagateDeps' in (await policyOf(beside)).spec),
    )
    await plane.eventually('the mark is gone', async () => {
      return !('lodestone.dev/propagate-deps-set' in ((await policyOf(name)).metadata.annotations ?? {}))
    })
    expect((await policyOf(name)).spec['propagateDeps']).toBe(true)
  })
})

interface Requests {
  own?: string
  inTemplate?: string
}

function workload(kind: string, name: string, { own, inTemplate }: Requests = {}): KubeObject {
  const labels = { app: name }
  const template = {
    metadata: { labels, ...(inTemplate && { annotations: { [VOLUMES]: inTemplate } }) },
    spec: { containers: [{ name: 'main', image: 'server:1' }] },
  }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'default', ...(own && { annotations: { [VOLUMES]: own } }) },
    spec: { ...(kind === 'Deployment' && { replicas: 1 }), selector: { matchLabels: labels }, template },
  }
}

const read = (name: string) => plane.getJson('volumemanagers.vck.intelai.org', name, 'default')

async function stateOf(name: string): Promise<unknown> {
  return ((await read(name)) as { status?: { state?: string } } | undefined)?.status?.state
}

async function templateOf(plural: string, name: string): Promise<PodTemplate> {
  const found = (await plane.getJson(plural, name, 'default')) as SpecObject
  return found.spec['template'] as PodTemplate
}

async function annotationOf(plural: string, name: string): Promise<string | undefined> {
  return (await templateOf(plural, name)).metadata?.annotations?.[VOLUMES]
}

async function podsOf(app: string): Promise<KubeObject[]> {
  return (await plane.listJson('pods', 'default')).filter(({ metadata }) => metadata.labels?.['app'] === app)
}

function mountsData(pod: KubeObject): boolean {
  return JSON.stringify(pod).includes('hostPath')
}

async function policyOf(name: string): Promise<SpecObject> {
  return (await plane.getJson('propagationpolicies', name, 'default')) as SpecObject
}

// For every kind that Karmada interprets and Lodestone knows too: both find the same dependencies, and where not, it is said why.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DependentObjectReference } from '../../src/api/dependencies.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, hubOn } from './hub.ts'
import {
  builtIn,
  container,
  customResourceDefinition,
  type InterpretedWorkload,
  thirdParty,
} from './interpreted-workloads.ts'
import { policy } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'

const annotation = 'resourcebinding.karmada.io/dependencies'
const cases = [...builtIn, ...thirdParty]

let plane: ControlPlane

beforeAll(async () => {
  const clusters = Object.entries(memberClusters).map(([name, cluster]) => [name, { ...cluster, apis: servedKinds() }])
  plane = await startControlPlane({ clusters: Object.fromEntries(clusters) })
  const definitions = new Map(thirdParty.map((one) => [one.plural, customResourceDefinition(one)]))
  await plane.apply([...definitions.values()])
  // It looks for new kinds every thirty seconds only.
  await plane.restart('karmada-controller-manager')
})

afterAll(async () => {
  await plane?.stopAll()
})

describe('Karmada finds in a', () => {
  test.each(cases)('$title what its sources say', async ({ workload, karmada }) => {
    await create(workload)

    if (karmada === 'fails') await failsToInterpret(workload)
    else expect(sorted(await interpretedByKarmada(workload))).toEqual(sorted(karmada))
  })

  test('Pod that is debugged also what the ephemeral container names', async () => {
    const pod = workloadNamed('debugged')
    await create(pod)
    const before = sorted(await interpretedByKarmada(pod))
    const path = `/api/v1/namespaces/default/pods/${pod.metadata.name}/ephemeralcontainers`
    const spec = { ephemeralContainers: [container('debugger', 'debug')] }

    await plane.api.expect('PATCH', path, { spec }, 'application/strategic-merge-patch+json')

    const found = await plane.eventually('the container is interpreted', async () => {
      const now = sorted(await interpretedByKarmada(pod))
      return now.length > before.length && now
    })
    expect(found.filter((one) => !before.includes(one))).toEqual([
      'v1 ConfigMap default debug-config',
      'v1 ConfigMap default debug-from-config',
      'v1 Secret default debug-from-secret',
      'v1 Secret default debug-secret',
    ])
  })
})

async function create(workload: KubeObject): Promise<void> {
  const { apiVersion, kind, metadata } = workload
  const name = `${metadata.name}-${kind}-${apiVersion.split('/')[0]}`.toLowerCase()
  await hubOn(plane).apply(policy(name, { workload, propagateDeps: true }), workload)
}

/** What Karmada's distributor notes on the binding of a workload. */
async function interpretedByKarmada(workload: KubeObject): Promise<DependentObjectReference[]> {
  return plane.eventually(`${workload.kind} ${workload.metadata.name} is interpreted`, async () => {
    const found = (await plane.listJson(bindings, 'default')).find((binding) => isOf(binding, workload))
    const text = found?.metadata.annotations?.[annotation]
    // A list that Go has not made is written as null.
    return text === undefined ? undefined : ((JSON.parse(text) as DependentObjectReference[] | null) ?? [])
  })
}

async function failsToInterpret({ kind, metadata }: KubeObject): Promise<void> {
  await plane.eventually(`Karmada says that it cannot interpret ${kind} ${metadata.name}`, async () => {
    const events = (await plane.listJson('events', 'default')) as EventObject[]
    return events.some(
      ({ reason, involvedObject }) =>
        reason === 'GetDependenciesFailed' && involvedObject.kind === kind && involvedObject.name === metadata.name,
    )
  })
}

interface EventObject extends KubeObject {
  reason: string
  involvedObject: { kind: string; name: string }
}

function workloadNamed(name: string): KubeObject {
  const pod = builtIn.find(({ workload }) => workload.kind === 'Pod') as InterpretedWorkload
  return { ...pod.workload, metadata: { ...pod.workload.metadata, name } }
}

function isOf(binding: KubeObject, { apiVersion, kind, metadata }: KubeObject): boolean {
  const { resource } = binding['spec'] as { resource: { apiVersion: string; kind: string; name: string } }
  return resource.apiVersion === apiVersion && resource.kind === kind && resource.name === metadata.name
}

function sorted(references: readonly DependentObjectReference[]): string[] {
  const texts = references.map(({ apiVersion, kind, namespace, name, labelSelector }) =>
    [apiVersion, kind, namespace, name ?? JSON.stringify(labelSelector)].join(' '),
  )
  return [...new Set(texts)].sort()
}

function servedKinds(): Record<string, Record<string, string>> {
  const served: Record<string, Record<string, string>> = {
    'multicluster.x-k8s.io/v1alpha1': { serviceimports: 'ServiceImport' },
  }
  for (const { workload, plural = '' } of thirdParty as InterpretedWorkload[]) {
    served[workload.apiVersion] = { ...served[workload.apiVersion], [plural]: workload.kind }
  }
  return served
}

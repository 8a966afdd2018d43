// For every kind that Karmada interprets and Lodestone knows too: both find the same dependencies, and where not, it is said why.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DependentObjectReference } from '../../src/api/dependencies.ts'
import { apiVersionOf } from '../../src/api/meta.ts'
import { interpretWorkload } from '../../src/core/dependencies/workload.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, type Hub, hubOn } from './hub.ts'
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

/** Karmada does not look into these: it has no script, or the kind has no namespace, which its distributor passes over. */
const onlyOurs = [
  'apps.kruise.io/v1alpha1 SidecarSet',
  'argoproj.io/v1alpha1 AnalysisTemplate',
  'argoproj.io/v1alpha1 CronWorkflow',
  'argoproj.io/v1alpha1 Experiment',
  'argoproj.io/v1alpha1 Rollout',
  'argoproj.io/v1alpha1 WorkflowTemplate',
  'batch.volcano.sh/v1alpha1 CronJob',
  'batch.volcano.sh/v1alpha1 Job',
  'disaggregatedset.x-k8s.io/v1 DisaggregatedSet',
  'flink.apache.org/v1beta1 FlinkBlueGreenDeployment',
  'flink.apache.org/v1beta1 FlinkDeployment',
  'flow.volcano.sh/v1alpha1 JobFlow',
  'flow.volcano.sh/v1alpha1 JobTemplate',
  'jobset.x-k8s.io/v1alpha2 JobSet',
  'kubeflow.org/v1 JAXJob',
  'kubeflow.org/v1 Notebook',
  'kubeflow.org/v1 PaddleJob',
  'kubeflow.org/v1 XGBoostJob',
  'kubeflow.org/v2beta1 MPIJob',
  'leaderworkerset.x-k8s.io/v1 LeaderWorkerSet',
  'ray.io/v1 RayCluster',
  'ray.io/v1 RayCronJob',
  'serving.kserve.io/v1alpha1 InferenceGraph',
  'serving.kserve.io/v1alpha1 ServingRuntime',
  'serving.kserve.io/v1alpha2 LLMInferenceService',
  'serving.kserve.io/v1alpha2 LLMInferenceServiceConfig',
  'serving.kserve.io/v1beta1 InferenceService',
  'spark.apache.org/v1 SparkApplication',
  'spark.apache.org/v1 SparkCluster',
  'sparkoperator.k8s.io/v1alpha1 SparkConnect',
  'sparkoperator.k8s.io/v1beta2 ScheduledSparkApplication',
  'sparkoperator.k8s.io/v1beta2 SparkApplication',
  'trainer.kubeflow.org/v1alpha1 OptimizationJob',
  'trainer.kubeflow.org/v1alpha1 TrainJob',
  'trainer.kubeflow.org/v1alpha1 TrainingRuntime',
  'training.volcano.sh/v1alpha1 HyperJob',
  'v1 PersistentVolume',
]

let plane: ControlPlane
let hub: Hub

beforeAll(async () => {
  const clusters = Object.entries(memberClusters).map(([name, cluster]) => [name, { ...cluster, apis: servedKinds() }])
  plane = await startControlPlane({ clusters: Object.fromEntries(clusters) })
  hub = hubOn(plane)
  const definitions = new Map(thirdParty.map((one) => [one.plural, customResourceDefinition(one)]))
  await plane.apply([...definitions.values()])
  await plane.crdsEstablished()
  // It looks for new kinds every thirty seconds only.
  await plane.restart('karmada-controller-manager')
})

afterAll(async () => {
  await plane?.stopAll()
})

test('every kind that Lodestone interprets is compared, unless Karmada lacks it', () => {
  const compared = cases.map(({ workload: { apiVersion, kind } }) => `${apiVersion} ${kind}`)
  const known = SHIPPED_KINDS.all.map(({ type }) => `${apiVersionOf(type)} ${type.kind}`)
  expect(known.filter((kind) => !compared.includes(kind)).sort()).toEqual(onlyOurs)
})

describe('Karmada and Lodestone find in a', () => {
  test.each(cases)('$title what its sources say', async ({ workload, karmada, difference }) => {
    await hub.apply(policyOf(workload), workload)

    const wanted = karmada === 'fails' ? [] : sorted(karmada)
    const found = karmada === 'fails' ? await failsToInterpret(workload) : await interpretedByKarmada(workload)
    expect(sorted(found)).toEqual(wanted)
    const less = sorted(difference?.less ?? [])
    const same = wanted.filter((one) => !less.includes(one))
    const ours = await interpretedByLodestone(workload)
    expect(ours, difference?.why).toEqual([...same, ...sorted(difference?.more ?? [])].sort())
  })

  test('Pod that is debugged also what the ephemeral container names', async () => {
    const pod = workloadNamed('debugged')
    await hub.apply(policyOf(pod), pod)
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
    expect(await interpretedByLodestone(pod)).toEqual(found)
  })
})

function policyOf(workload: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = workload
  const name = `${metadata.name}-${kind}-${apiVersion.split('/')[0]}`.toLowerCase()
  return policy(name, { workload, propagateDeps: true })
}

/** Returns the dependencies that Karmada's distributor records on the binding of a workload. */
async function interpretedByKarmada(workload: KubeObject): Promise<DependentObjectReference[]> {
  return plane.eventually(`${workload.kind} ${workload.metadata.name} is interpreted`, async () => {
    const found = (await plane.listJson(bindings, 'default')).find((binding) => isOf(binding, workload))
    const text = found?.metadata.annotations?.[annotation]
    // A list that Go has not made is written as null.
    return text === undefined ? undefined : ((JSON.parse(text) as DependentObjectReference[] | null) ?? [])
  })
}

/** Of the object as it is stored, defaults included. */
async function interpretedByLodestone(workload: KubeObject): Promise<string[]> {
  const stored = (await hub.read(workload)) as KubeObject
  return sorted(interpretWorkload(stored, SHIPPED_KINDS).dependencies.references)
}

/** Waits for the Event that says so; Karmada records no dependencies then. */
async function failsToInterpret({ kind, metadata }: KubeObject): Promise<DependentObjectReference[]> {
  await plane.eventually(`Karmada says that it cannot interpret ${kind} ${metadata.name}`, async () => {
    const events = (await plane.listJson('events', 'default')) as EventObject[]
    return events.some(
      ({ reason, involvedObject }) =>
        reason === 'GetDependenciesFailed' && involvedObject.kind === kind && involvedObject.name === metadata.name,
    )
  })
  return []
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

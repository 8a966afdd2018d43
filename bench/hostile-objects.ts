/** Stored objects as large as etcd takes them, and what a loop or a cache does with them. */
import { dataSourceClaims } from '../src/api/data-source-claim.ts'
import { DEPENDENCIES_ANNOTATION, type ResourceBinding } from '../src/api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX, LOCALITY_ANNOTATION } from '../src/api/lodestone.ts'
import { type K8sObject, referenceOf } from '../src/api/meta.ts'
import { planSource } from '../src/core/data-source/plan.ts'
import { planClaim } from '../src/core/data-source-claim/plan.ts'
import { interpretDependencies } from '../src/core/dependencies/interpret.ts'
import { attachesAny } from '../src/core/dependencies/needs.ts'
import { planAttachedBinding } from '../src/core/dependencies/plan-attached.ts'
import { NOTHING_RELATED } from '../src/core/dependencies/related.ts'
import { workloadOf } from '../src/core/dependencies/workload.ts'
import { planPolicy } from '../src/core/propagation-policy/plan.ts'
import { selectorKeys, selects } from '../src/core/propagation-policy/select.ts'
import { planBinding } from '../src/core/resource-binding/plan.ts'
import { mountableVolumes } from '../src/core/workload/mountable-volumes.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import {
  located,
  makeBinding,
  makeClaim,
  makeInput,
  makeObject,
  makePolicy,
  makePolicyInput,
  makeSource,
  makeVolumeManager,
  NOW,
} from '../test/builders.ts'
import { clusterNames } from './hostile-bodies.ts'

export interface HostileObject {
  name: string
  size: number
  open(size: number): { object: object; run: () => unknown }
}

const range = (size: number) => Array.from({ length: size }, (_, i) => i)

function keep(object: K8sObject): unknown {
  const kind = cachedKinds.find(({ type }) => type.kind === object.kind)
  if (!kind) throw new Error(`${object.kind} is not cached`)
  const kept = kind.keep(object as never)
  return Object.values(kind.indexes).map((index) => index(kept as never))
}

const reference = (i: number) => ({ apiVersion: 'v1', kind: 'Secret', namespace: 'default', name: `secret-${i}` })

export const hostileObjects: readonly HostileObject[] = [
  {
    name: 'a binding and its policy with the same names, and a claim',
    size: 60_000,
    open(size) {
      const placement = { clusterAffinity: { clusterNames: clusterNames(size) } }
      const binding = makeBinding({ placement })
      const input = makeInput({
        binding,
        policy: makePolicyInput({ placement }),
        claims: [located(clusterNames(size).slice(0, 5000))],
      })
      return { object: { binding, placement }, run: () => planBinding(input) }
    },
  },
  {
    name: 'a binding that is scheduled to many clusters, and its note',
    size: 30_000,
    open(size) {
      const names = clusterNames(size)
      const binding = makeBinding(
        {
          clusters: names.map((name) => ({ name, replicas: 1 })),
          placement: { clusterAffinity: { clusterNames: names } },
        },
        {
          annotations: {
            [LOCALITY_ANNOTATION]: JSON.stringify({
              state: 'Narrowed',
              message: 'noted',
              claims: ['default/sales'],
              required: names.slice(0, 5000),
            }),
          },
        },
      )
      const input = makeInput({ binding, stored: binding, claims: [located(names.slice(5, 5000))] })
      return { object: binding, run: () => planBinding(input) }
    },
  },
  {
    name: '64 claims of one workload, each with 5,000 clusters',
    size: 64,
    open(size) {
      const claims = range(size).map((i) => located(clusterNames(5000), { claim: `default/claim-${i}` }))
      const binding = makeBinding({ placement: {} })
      const input = makeInput({ binding, claims })
      return { object: claims, run: () => planBinding(input) }
    },
  },
  {
    name: 'a source and its claims',
    size: 10_000,
    open(size) {
      const claims = range(size).map((i) => makeClaim({}, { name: `claim-${i}`, uid: `uid-${i}` }))
      const source = makeSource({}, { resourceVersion: '1', finalizers: ['lodestone.dev/source'] })
      const input = { source, claims, attempt: undefined, systemKnown: true, health: undefined, now: NOW }
      return { object: claims, run: () => planSource(input) }
    },
  },
  {
    name: 'a claim of data in many clusters',
    size: 5000,
    open(size) {
      const source = makeSource({ locality: { clusterNames: clusterNames(size) } })
      const claim = makeClaim({}, { finalizers: ['lodestone.dev/claim'], generation: 1 })
      const input = { claim, source, systemKnown: true, nameTaken: false, bindings: [], now: NOW }
      return { object: source, run: () => planClaim(input as never) }
    },
  },
  {
    name: 'a policy with many selectors, and the workloads that it may mean',
    size: 20_000,
    open(size) {
      const policy = makePolicy({
        resourceSelectors: range(size).map((i) => ({ apiVersion: 'apps/v1', kind: 'Deployment', name: `app-${i}` })),
      })
      const workloads = range(size).map((i) => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        namespace: 'default',
        name: `other-${i}`,
      }))
      return {
        object: [policy, workloads],
        run() {
          selectorKeys(policy)
          for (const workload of workloads) selects(policy, workload, {})
          planPolicy({ policy, mode: 'dataBound', dataBound: undefined } as never)
        },
      }
    },
  },
  {
    name: 'a Workflow of many nodes comes into the cache',
    size: 60_000,
    open(size) {
      const workflow = makeObject('argoproj.io/v1alpha1', 'Workflow', 'flow', {
        spec: { templates: range(size).map(() => ({ a: {} })) },
      })
      return { object: workflow, run: () => keep(workflow) }
    },
  },
  {
    name: 'a Workflow of many numbers comes into the cache',
    size: 400_000,
    open(size) {
      const workflow = makeObject('argoproj.io/v1alpha1', 'Workflow', 'flow', { spec: { numbers: range(size) } })
      return { object: workflow, run: () => keep(workflow) }
    },
  },
  {
    name: 'a workload that names many Secrets is interpreted',
    size: 20_000,
    open(size) {
      const env = range(size).map((i) => ({ name: `E${i}`, valueFrom: { secretKeyRef: { name: `s${i}`, key: 'k' } } }))
      const deployment = makeObject('apps/v1', 'Deployment', 'app', {
        spec: { template: { metadata: { labels: { app: 'app' } }, spec: { containers: [{ name: 'main', env }] } } },
      })
      return { object: deployment, run: () => interpretDependencies(workloadOf(deployment), NOTHING_RELATED) }
    },
  },
  {
    name: 'what Karmada recorded on a binding × its dependencies',
    size: 3000,
    open(size) {
      const recorded = JSON.stringify(range(size).map(reference))
      const binding = (): ResourceBinding =>
        makeBinding({ clusters: [{ name: 'c1' }] }, { annotations: { [DEPENDENCIES_ANNOTATION]: recorded } })
      const dependents = range(size).map((i) => makeObject('v1', 'Secret', `secret-${i}`))
      return { object: [binding(), dependents], run: () => attachesAny(binding(), dependents, 'karmada') }
    },
  },
  {
    name: 'the attached binding of a Secret that many workloads need',
    size: 8000,
    open(size) {
      const needing = range(size).map((i) =>
        makeBinding({ clusters: [{ name: 'c1' }], propagateDeps: true }, { name: `app-${i}-deployment` }),
      )
      const dependent = makeObject('v1', 'Secret', 'shared')
      const stored: ResourceBinding = {
        ...makeBinding({ resource: referenceOf(dependent) }),
        metadata: {
          name: 'shared-secret',
          namespace: 'default',
          labels: Object.fromEntries(range(size).map((i) => [`${DEPENDED_BY_LABEL_PREFIX}${i}`, 'id'])),
        },
      }
      const byName = new Map(needing.map((binding) => [binding.metadata.name, binding]))
      const input = {
        dependent,
        stored,
        needs: needing.map((binding) => ({ binding, ours: true })),
        bindingOf: ({ name }: { name: string }) => byName.get(name),
        labeledFor: [],
        isUnknown: () => false,
      }
      return { object: [needing, stored], run: () => planAttachedBinding(input) }
    },
  },
  {
    name: 'a VolumeManager is read for a pod that asks for a part',
    size: 100,
    open(size) {
      const parts = JSON.stringify(Object.fromEntries(range(90).map((i) => [`part-${i}`, 1])))
      const manager = makeVolumeManager(
        range(size).map((i) => ({
          id: `v${i}`,
          replicas: 90,
          options: { awsCredentialsSecretName: '', sourceURL: 's3://lake/sales/', distributionStrategy: parts },
        })),
      )
      // The strategies are JSON in texts: they are parsed as well.
      const strategies = manager.spec.volumeConfigs.map(() => JSON.parse(parts))
      return { object: [manager, strategies], run: () => mountableVolumes(manager).volumes[0]?.shards() }
    },
  },
  {
    name: 'a claim comes into the cache',
    size: 32,
    open(size) {
      const claim = makeClaim({ attributes: Object.fromEntries(range(size).map((i) => [`a${i}`, 'x'.repeat(1000)])) })
      return { object: claim, run: () => keep({ ...claim, kind: dataSourceClaims.kind }) }
    },
  },
]

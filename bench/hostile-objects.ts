/** Stored objects as large as etcd stores them, and the work of a loop or of the cache on them. */
import { DEPENDENCIES_ANNOTATION } from '../src/api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../src/api/lodestone.ts'
import { type K8sObject, referenceOf } from '../src/api/meta.ts'
import { planSource } from '../src/core/data-source/plan.ts'
import { NO_HISTORY } from '../src/core/data-source/query-history.ts'
import { planClaim } from '../src/core/data-source-claim/plan.ts'
import { interpretDependencies } from '../src/core/dependencies/interpret.ts'
import { attachesAny } from '../src/core/dependencies/needs.ts'
import { planAttachedBinding } from '../src/core/dependencies/plan-attached.ts'
import { interpretWorkload } from '../src/core/dependencies/workload.ts'
import { planPolicy } from '../src/core/propagation-policy/plan.ts'
import { selectorKeys, selects } from '../src/core/propagation-policy/select.ts'
import { planBinding } from '../src/core/resource-binding/plan.ts'
import { mountableVolumes } from '../src/core/workload/injection/mountable-volumes.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
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
  NOTHING_RELATED,
  NOW,
} from '../test/builders.ts'
import { clusterNames, members, note, range } from './hostile-bodies.ts'

/** The stored text, and the work on the object. */
type Opened = [stored: object, work: () => unknown]

const workflow = (spec: object) => makeObject('argoproj.io/v1alpha1', 'Workflow', 'flow', { spec })

/** Puts an object into the cache. */
function cache(object: K8sObject): Opened {
  const kind = cachedKinds.find(({ type }) => type.kind === object.kind)
  if (!kind) throw new Error(`${object.kind} is not cached`)
  const { indexes, keep } = kind
  return [
    object,
    () => {
      const kept = keep(object as never)
      return Object.values(indexes).map((index) => index(kept as never))
    },
  ]
}

const TABLE: [name: string, size: number, open: (size: number) => Opened][] = [
  [
    'a binding and its policy with the same names, and a claim',
    60_000,
    (n) => {
      const placement = { clusterAffinity: { clusterNames: clusterNames(n) } }
      const binding = makeBinding({ placement })
      const policy = makePolicyInput({ placement })
      const input = makeInput({ binding, policy, claims: [located(clusterNames(n).slice(0, 5000))] })
      return [{ binding, placement }, () => planBinding(input)]
    },
  ],
  [
    'a binding that is scheduled to many clusters, and its note',
    30_000,
    (n) => {
      const names = clusterNames(n)
      const clusters = names.map((name) => ({ name, replicas: 1 }))
      const spec = { clusters, placement: { clusterAffinity: { clusterNames: names } } }
      const binding = makeBinding(spec, { annotations: note({ required: names.slice(0, 5000) }) })
      const input = makeInput({ binding, stored: binding, claims: [located(names.slice(5, 5000))] })
      return [binding, () => planBinding(input)]
    },
  ],
  [
    '64 claims of one workload, each with 5,000 clusters',
    64,
    (n) => {
      const claims = range(n).map((i) => located(clusterNames(5000), { claim: `default/claim-${i}` }))
      const input = makeInput({ binding: makeBinding({ placement: {} }), claims })
      return [claims, () => planBinding(input)]
    },
  ],
  [
    'a source and its claims',
    10_000,
    (n) => {
      const claims = range(n).map((i) => makeClaim({}, { name: `claim-${i}`, uid: `uid-${i}` }))
      const source = makeSource({}, { resourceVersion: '1', finalizers: ['lodestone.dev/source'] })
      const input = {
        source,
        claims,
        attempt: undefined,
        history: NO_HISTORY,
        isQuerying: false,
        absentUntil: undefined,
      }
      const system = { refreshIntervalMs: 300_000, isFailing: false }
      return [claims, () => planSource({ ...input, system, health: undefined, now: NOW })]
    },
  ],
  [
    'a claim of data in many clusters',
    5000,
    (n) => {
      const source = makeSource({ locality: { clusterNames: clusterNames(n) } })
      const claim = makeClaim({}, { finalizers: ['lodestone.dev/claim'], generation: 1 })
      const input = { claim, source, systemKnown: true, nameTaken: false, bindings: [], now: NOW }
      return [source, () => planClaim(input as never)]
    },
  ],
  [
    'a policy with many selectors, and the workloads that it may mean',
    20_000,
    (n) => {
      const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
      const policy = makePolicy({ resourceSelectors: range(n).map((i) => ({ ...deployment, name: `app-${i}` })) })
      const workloads = range(n).map((i) => ({ ...deployment, namespace: 'default', name: `other-${i}` }))
      const plan = () => {
        selectorKeys(policy)
        for (const workload of workloads) selects(policy, workload, {})
        planPolicy({ policy, mode: 'dataBound', dataBound: undefined } as never)
      }
      return [[policy, workloads], plan]
    },
  ],
  [
    'a Workflow of many nodes comes into the cache',
    60_000,
    (n) => cache(workflow({ templates: range(n).map(() => ({ a: {} })) })),
  ],
  ['a Workflow of many numbers comes into the cache', 400_000, (n) => cache(workflow({ numbers: range(n) }))],
  [
    'a workload that names many Secrets is interpreted',
    20_000,
    (n) => {
      const env = range(n).map((i) => ({ name: `E${i}`, valueFrom: { secretKeyRef: { name: `s${i}`, key: 'k' } } }))
      const template = { metadata: { labels: { app: 'app' } }, spec: { containers: [{ name: 'main', env }] } }
      const deployment = makeObject('apps/v1', 'Deployment', 'app', { spec: { template } })
      return [deployment, () => interpretDependencies(interpretWorkload(deployment, SHIPPED_KINDS), NOTHING_RELATED)]
    },
  ],
  [
    'what Karmada recorded on a binding × its dependencies',
    3000,
    (n) => {
      const secret = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' }
      const recorded = JSON.stringify(range(n).map((i) => ({ ...secret, name: `secret-${i}` })))
      const annotations = { [DEPENDENCIES_ANNOTATION]: recorded }
      const binding = () => makeBinding({ clusters: [{ name: 'c1' }] }, { annotations })
      const dependents = range(n).map((i) => makeObject('v1', 'Secret', `secret-${i}`))
      return [[binding(), dependents], () => attachesAny(binding(), dependents, 'karmada')]
    },
  ],
  [
    'the attached binding of a Secret that many workloads need',
    8000,
    (n) => {
      const spec = { clusters: [{ name: 'c1' }], propagateDeps: true }
      const needing = range(n).map((i) => makeBinding(spec, { name: `app-${i}-deployment` }))
      const dependent = makeObject('v1', 'Secret', 'shared')
      const metadata = {
        name: 'shared-secret',
        namespace: 'default',
        labels: members(n, DEPENDED_BY_LABEL_PREFIX, () => 'id'),
      }
      const stored = { ...makeBinding({ resource: referenceOf(dependent) }), metadata }
      const byName = new Map(needing.map((binding) => [binding.metadata.name, binding]))
      const input = {
        dependent,
        stored,
        needs: needing.map((binding) => ({ binding, ours: true, karmadaFollows: false })),
        bindingOf: ({ name }: { name: string }) => byName.get(name),
        labeledFor: [],
        isUnknown: () => false,
        isNeverPropagated: false,
        waitedMs: 0,
      }
      return [[needing, stored], () => planAttachedBinding(input)]
    },
  ],
  [
    'a VolumeManager is read for a pod that asks for a part',
    100,
    (n) => {
      const distributionStrategy = JSON.stringify(members(90, 'part-', () => 1))
      const options = { awsCredentialsSecretName: '', sourceURL: 's3://lake/sales/', distributionStrategy }
      const manager = makeVolumeManager(range(n).map((i) => ({ id: `v${i}`, replicas: 90, options })))
      // The strategies are JSON in texts, and are parsed as well.
      const strategies = manager.spec.volumeConfigs.map(() => JSON.parse(distributionStrategy))
      return [[manager, strategies], () => mountableVolumes(manager).volumes[0]?.shards()]
    },
  ],
  [
    'a claim comes into the cache',
    32,
    (n) => cache(makeClaim({ attributes: members(n, 'a', () => 'x'.repeat(1000)) })),
  ],
]

export const hostileObjects = TABLE.map(([name, size, open]) => ({ name, size, open }))

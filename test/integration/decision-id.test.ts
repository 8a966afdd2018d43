/** One id joins the audit annotation, the log line, the Event and the explanation of each decision, and all say the same sentence. */
import fc from 'fast-check'
import fastJsonPatch from 'fast-json-patch'
import { expect, test } from 'vitest'
import type { AdmissionResponse } from '../../src/api/admission.ts'
import { dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { isBinding, propagationPolicies, type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { DECISION_ID_LABEL } from '../../src/api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import { DEFAULT_CONFIG } from '../../src/app/config/config.ts'
import { explainContext } from '../../src/cli/explain/context.fake.ts'
import { podExplainer } from '../../src/cli/explain/pod.ts'
import { makeTarget } from '../../src/cli/explain/target.ts'
import type { TreeNode } from '../../src/cli/explain/tree.ts'
import { bindingExplainer } from '../../src/cli/explain/workload.ts'
import { gatherStatus, SECTIONS } from '../../src/cli/status/gather.ts'
import { storedHolds } from '../../src/cli/status/holds.ts'
import { waitingRows } from '../../src/cli/ui/waiting.ts'
import { workloadPlaced } from '../../src/core/data-source-claim/workload-placed.ts'
import { bindingDecisionId, podDecisionId } from '../../src/core/decision-id.ts'
import { readDecision } from '../../src/core/resource-binding/annotations.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { bindingEvents } from '../../src/core/resource-binding/plan.ts'
import { planGate } from '../../src/core/workload/gate/gate-state.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import { openEventRecorder } from '../../src/reconcile/event-recorder.ts'
import { admissionSettings } from '../../src/server/admission.fake.ts'
import { serveWebhook } from '../../src/server/admission.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { recordLog } from '../../src/telemetry/logger.fake.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { openMetrics } from '../../src/telemetry/metrics.ts'
import { allWebhooks } from '../../src/webhooks/index.ts'
import {
  DEFAULT_DECISIONS,
  makeBinding,
  makeClaim,
  makeCluster,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
  managers,
  NOW,
  OWNED,
} from '../builders.ts'
import { storeOf } from '../stores.ts'

const MEMBERS = ['member1', 'member2', 'member3']
const POLICY = { onUnresolved: ['Hold', 'Ignore'], onUnsatisfiable: ['Hold', 'Ignore'], rebalance: ['Auto', 'Never'] }

const clusters = fc.subarray([...MEMBERS, 'gone'])
const terms = fc.record({
  enforcement: fc.constantFrom('Required' as const, 'Preferred' as const),
  policy: fc.record({
    onUnresolved: fc.constantFrom(...POLICY.onUnresolved),
    onUnsatisfiable: fc.constantFrom(...POLICY.onUnsatisfiable),
    rebalance: fc.constantFrom(...POLICY.rebalance),
    holdTimeoutSeconds: fc.option(fc.constant(60), { nil: undefined }),
  }),
})

/** What happens between two writes of the binding, and the write. */
const step = fc.record({
  /** The clusters of each of the two sources; undefined for a source without a location. */
  located: fc.option(fc.array(fc.option(clusters, { nil: undefined }), { minLength: 2, maxLength: 2 })),
  /** The claims that exist. */
  claims: fc.option(fc.array(fc.option(terms, { nil: undefined }), { minLength: 2, maxLength: 2 })),
  allowed: fc.option(fc.subarray(MEMBERS, { minLength: 1 })),
  laterMs: fc.constantFrom(1, 10_000, 120_000, 3_600_000),
  writer: fc.constantFrom('detector', 'scheduler', 'loop'),
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const claimNames = ['sales', 'orders']

const WEBHOOKS = allWebhooks(SHIPPED_KINDS)
const METRICS = openMetrics()

type Serve = ReturnType<typeof serveWebhook>

/** Opens the admission point of a webhook. */
function openAdmission(name: string, store: ObjectStore, log: Logger, now: () => number): Serve {
  const webhook = WEBHOOKS.find((one) => one.name === name)
  if (!webhook) throw new Error(`no webhook ${name}`)
  return serveWebhook(webhook, { ...admissionSettings, store, log, metrics: METRICS, now })
}

/** Sends a review of a write. Returns the response, and the object that the API server stores if it is allowed. */
function review(
  serve: Serve,
  { group, version, kind, plural }: ResourceType,
  { object, oldObject }: { object: K8sObject; oldObject?: K8sObject | undefined },
): { object: K8sObject; response: AdmissionResponse } {
  const { namespace, name } = object.metadata
  const request = {
    uid: 'u1',
    operation: oldObject ? 'UPDATE' : 'CREATE',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    namespace,
    name,
    object,
    oldObject,
  }
  const answer = serve(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }))
  const { response } = JSON.parse(answer.body) as { response: AdmissionResponse }
  const patch = response.patch ? JSON.parse(Buffer.from(response.patch, 'base64').toString()) : []
  return { object: fastJsonPatch.applyPatch(structuredClone(object), patch).newDocument, response }
}

/** A hub whose admission, leader and user are in this process. */
async function openHub() {
  let now = NOW
  const store = await storeOf(MEMBERS.map((name) => makeCluster(name)))
  const { log, lines } = recordLog()
  const serve = openAdmission('resource-binding', store, log, () => now)
  const events: (K8sObject & { message?: string; reason?: string })[] = []
  const create = async (_type: ResourceType, event: K8sObject) => void events.push(event) as never
  const recorder = openEventRecorder({ store: { create }, now: () => now, observer: { recorded() {} } })
  store.subscribe(({ type, before, after }) => {
    if (!after || !isBinding(type.kind)) return
    bindingEvents(before as ResourceBinding | undefined, after as ResourceBinding).forEach(recorder.record)
  })
  const stored = () => store.get(resourceBindings, 'default', 'app-deployment')

  async function put(type: ResourceType, object: K8sObject | undefined, name: string): Promise<void> {
    const { namespace } = type.namespaced ? { namespace: 'default' } : {}
    const before = store.get(type, namespace, name)
    if (before && object) {
      const { resourceVersion } = before.metadata
      await store.update(type, {
        ...object,
        metadata: { ...object.metadata, ...(resourceVersion && { resourceVersion }) },
      })
    } else if (before) await store.delete(type, before)
    else if (object) await store.create(type, object)
  }

  return {
    events,
    stored,
    async change({ located, claims, allowed, laterMs }: Step): Promise<void> {
      now += laterMs
      for (const [i, name] of claimNames.entries()) {
        const data = `lake.shop.${name}`
        const clusterNames = located?.[i]
        const source = makeSource(
          { name: data, ...(clusterNames ? { locality: { clusterNames } } : { locality: undefined as never }) },
          { name: `amoro-table-${data}` },
        )
        if (located) await put(dataSources, source, source.metadata.name ?? '')
        const spec = claims?.[i]
        const claim = spec && makeClaim({ ...spec, dataSourceName: data } as never, { name })
        if (claims) await put(dataSourceClaims, claim, name)
      }
      const policy = makePolicy(allowed ? { placement: { clusterAffinity: { clusterNames: allowed } } } : {})
      if (allowed || !store.get(propagationPolicies, 'default', 'app')) await put(propagationPolicies, policy, 'app')
    },
    /** Writes the binding as one of its writers does. */
    async write(writer: Step['writer']) {
      const before = stored()
      const policy = store.get(propagationPolicies, 'default', 'app')
      const placement = policy?.spec.placement ?? {}
      let object: ResourceBinding = before ?? makeBinding({ placement })
      if (before && writer === 'detector') object = { ...before, spec: { ...before.spec, placement } }
      if (before && writer === 'loop') {
        object = decideBinding(gatherBindingInput(before, before, { ...DEFAULT_DECISIONS, store, now })).binding
      }
      const [first] = before?.spec.placement?.clusterAffinity?.clusterNames ?? []
      if (before && writer === 'scheduler' && first)
        object = { ...before, spec: { ...before.spec, clusters: [{ name: first }] } }
      // Owners are not cached.
      object = { ...object, metadata: { ...object.metadata, ...OWNED } }
      lines.length = 0
      const { object: written, response } = review(serve, resourceBindings, { object, oldObject: before })
      if (response.allowed) await put(resourceBindings, written, 'app-deployment')
      await new Promise(setImmediate)
      return {
        allowed: response.allowed,
        audit: response.auditAnnotations ?? {},
        warnings: response.warnings ?? [],
        line: lines.find(({ outcome }) => outcome !== undefined),
      }
    },
    /** The sentence of the decision on the stored binding at this moment. */
    present(): string | undefined {
      const binding = stored()
      return (
        binding && decideBinding(gatherBindingInput(binding, binding, { ...DEFAULT_DECISIONS, store, now })).message
      )
    },
    /** What `status` and the page show. */
    report: () =>
      gatherStatus(store, {
        sections: new Set(SECTIONS),
        namespace: undefined,
        system: undefined,
        configured: undefined,
        holds: storedHolds(store),
        scope: DEFAULT_CONFIG.claims.clusterScoped,
        now,
      }),
    async explain(): Promise<TreeNode> {
      const target = makeTarget(resourceBindings, 'default', 'app-deployment')
      const tree = await bindingExplainer.explain(target, explainContext(store, now))
      const node = tree?.children?.find(({ kind }) => kind === 'ResourceBinding')
      if (!node) throw new Error('the binding is not explained')
      return node
    },
  }
}

test('audit annotation, log line, Event and explanation of a decision have the same id', async () => {
  const states = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const { events, stored, change, write, explain } = await openHub()
      let before = bindingDecisionId(makeBinding())
      for (const each of steps) {
        await change(each)
        events.length = 0
        const { allowed, audit, line } = await write(each.writer)
        const binding = stored() as ResourceBinding
        const id = bindingDecisionId(binding)
        const wanted = audit['decision'] || !allowed ? id : undefined
        expect([audit['decision-id'], line?.['decisionId']]).toEqual([wanted, wanted])
        expect(await explain()).toMatchObject({ decisionId: id })
        expect(events.length > 0).toBe(id !== before)
        for (const { metadata, message } of events) {
          expect([metadata.labels?.[DECISION_ID_LABEL], message?.endsWith(` (decision ${id})`)]).toEqual([id, true])
        }
        states.add(allowed ? (audit['decision'] ?? 'Untouched') : 'denied')
        before = id
      }
    }),
    { seed: 1, numRuns: 100 },
  )
  expect([...states].sort()).toEqual([
    'Ignored',
    'Kept',
    'Narrowed',
    'OnHold',
    'Relaxed',
    'Released',
    'Restored',
    'Untouched',
    'denied',
  ])
})

test('5,000 decisions: annotations, logs, Events, status and page give the same reason', async () => {
  const told = { decisions: 0, presentAsStored: 0, holds: 0, events: 0, conditions: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 8 }), async (steps) => {
      const { events, stored, change, write, explain, present, report } = await openHub()
      for (const each of steps) {
        await change(each)
        events.length = 0
        const { allowed, audit, warnings } = await write(each.writer)
        const { hold, locality } = readDecision(stored()?.metadata.annotations)
        const why = hold?.message ?? locality?.message
        if (!allowed || why === undefined || audit['decision'] === undefined) continue
        told.decisions += 1
        expect(audit['reason']).toBe(why)
        // kubectl shows 120 characters of a warning.
        for (const warning of warnings)
          expect(why).toContain(warning.replace(/^lodestone: [^:]+: /, '').replace(/…$/, ''))
        // The explanation has the present decision, whose sentence may be newer than the stored one.
        expect((await explain()).reason).toBe(present())
        told.presentAsStored += Number(present() === why)
        for (const { message } of events) expect(message).toContain(why)
        told.events += events.length
        const placed = workloadPlaced([stored() as ResourceBinding], undefined)
        const saysWhy = placed && ['OnHold', 'Kept', 'Relaxed'].includes(placed.reason)
        expect(saysWhy ? placed.message : why).toContain(why)
        told.conditions += Number(saysWhy ?? false)
        if (!hold || hold.released) continue
        told.holds += 1
        const status = report()
        expect(status.holds?.map(({ message }) => message)).toEqual([why])
        expect(waitingRows(status).map(({ message }) => message)).toEqual([why])
      }
    }),
    { seed: 2, numRuns: 1000 },
  )
  expect(told.decisions).toBeGreaterThan(5000)
  expect(Math.min(told.presentAsStored, told.holds, told.events, told.conditions)).toBeGreaterThan(500)
}, 300_000)

const ASKS = { name: 'sales', 'mount-path': '/data' }
const READY = [{ id: 'vol1', message: 'success', nodeAffinity: {}, volumeSource: { hostPath: { path: '/d' } } }]

test.each([
  { name: 'is injected', pod: makePod(ASKS), volumes: READY, decision: 'Injected' },
  { name: 'is rejected', pod: makePod({ name: 'none' }), volumes: READY, decision: undefined },
  { name: 'is gated', pod: makePod(ASKS), volumes: [], decision: 'Gated', told: 'VolumesUnusable' },
])('a pod that $name has one id in audit annotation, log line, Event and explanation', async (given) => {
  const { volumes, decision, told } = given
  // The API server generates the name after admission.
  const { name: _generated, ...metadata } = given.pod.metadata
  const pod = { ...given.pod, metadata: { ...metadata, generateName: 'trainer-' } }
  const store = await storeOf([makeVolumeManager([{}], { status: { state: 'Running', message: '', volumes } })])
  const { log, lines } = recordLog()
  const serve = openAdmission('pod', store, log, () => NOW)
  const { object, response } = review(serve, pods, { object: pod })
  const name = 'trainer-x2k9p'
  await store.create(pods, { ...object, metadata: { ...object.metadata, name } } as Pod)
  const stored = store.get(pods, 'default', name) as Pod
  const events = stored.spec ? planGate(stored, managers()).actions : []

  const decisionId = podDecisionId(pod)
  expect(response.auditAnnotations).toMatchObject({ 'decision-id': decisionId, ...(decision && { decision }) })
  expect(lines).toContainEqual(expect.objectContaining({ decisionId }))
  expect(await podExplainer.explain(makeTarget(pods, 'default', name), explainContext(store, NOW))).toMatchObject({
    decisionId,
  })
  expect(events).toMatchObject(told ? [{ reason: told, decisionId }] : [])
})

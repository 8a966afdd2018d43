/**
 * Replays recorded admission reviews in order over a store in memory that knows where the Deployment's data is: member2.
 * A kube-apiserver sent these reviews (test/data/reviews) while real Karmada controllers propagated the Deployment.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import fastJsonPatch, { type Operation } from 'fast-json-patch'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AdmissionRequest } from '../src/api/admission.ts'
import {
  clusterPropagationPolicies,
  type Placement,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../src/api/karmada.ts'
import type { K8sObject } from '../src/api/meta.ts'
import { decodeReview, encodeResponse } from '../src/core/admission/review.ts'
import { OUR_ANNOTATIONS, readAnnotations } from '../src/core/resource-binding/annotations.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../src/store/store.ts'
import { defaultSettings } from '../src/webhooks/context.fake.ts'
import { allWebhooks } from '../src/webhooks/index.ts'
import { makeClaim, makeSource, NOW } from './builders.ts'
import { storeOf } from './stores.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

interface Recorded {
  file: string
  request: AdmissionRequest
}

const folder = new URL('data/reviews/', import.meta.url)
const recorded: Recorded[] = readdirSync(folder)
  .sort()
  .map((file) => {
    const decoded = decodeReview(JSON.parse(readFileSync(new URL(file, folder), 'utf8')))
    if ('error' in decoded) throw new Error(`${file}: ${decoded.error}`)
    return { file, request: decoded.request }
  })

const APP = 'app-deployment'
const isBinding = ({ request }: Recorded) => ['ResourceBinding', 'ClusterResourceBinding'].includes(request.kind.kind)
const isApp = (each: Recorded) => isBinding(each) && each.request.name === APP
const affinity = (...clusterNames: string[]) => ({ clusterAffinity: { clusterNames } })
const placement = (...clusterNames: string[]): Placement => ({
  ...affinity(...clusterNames),
  replicaScheduling: { replicaSchedulingType: 'Duplicated' },
})
const THREE = ['member1', 'member2', 'member3']
const TWO = ['member1', 'member2']

let store: ObjectStore

beforeEach(async () => {
  store = await storeOf([makeClaim(), makeSource()])
})

/** Lets the store see what the recorded write of a policy made. A reinvocation carries what was there before it. */
async function keepPolicy({ request: { kind, object, operation } }: Recorded): Promise<void> {
  const type = kind.kind === 'ClusterPropagationPolicy' ? clusterPropagationPolicies : propagationPolicies
  const policy = structuredClone(object) as PropagationPolicy
  const { resourceVersion: _recorded, ...metadata } = policy.metadata
  const current = await store.read(type, metadata.namespace, metadata.name ?? '')
  if (!current) await store.create(type, { ...policy, metadata })
  else if (operation === 'UPDATE')
    await store.update(type, { ...policy, metadata: { ...metadata, ...current.metadata } })
}

/** Asks the webhook of the request's kind; gives the operations of the patch and the object that comes out. */
function review<T extends K8sObject = ResourceBinding>(
  request: AdmissionRequest,
): { operations: Operation[]; object: T } {
  const webhook = webhooks
    .filter(({ type }) => type === 'mutating')
    .find(({ resources }) => resources.some(({ kind }) => kind === request.kind.kind))
  if (!webhook) throw new Error(`no webhook mutates ${request.kind.kind}`)
  const outcome = webhook.review(request, { ...defaultSettings, store, now: NOW })
  const response = encodeResponse(structuredClone(request), outcome, (text) => text)
  expect([response.allowed, response.patchType]).toEqual([true, response.patch && 'JSONPatch'])
  const operations = JSON.parse(response.patch ?? '[]') as Operation[]
  const { newDocument } = fastJsonPatch.applyPatch(structuredClone(request.object), operations, true)
  return { operations, object: newDocument as T }
}

const notesOf = (binding: ResourceBinding) => {
  const { base, locality, hold } = readAnnotations(binding.metadata.annotations)
  return { base, required: locality?.required, hold }
}

test('the recording is whole: 38 reviews, 18 of them of the binding of Deployment app', () => {
  expect([recorded.length, recorded.filter(isApp).length]).toEqual([38, 18])
})

describe('asked again, in order, about what would be stored if Lodestone had answered', () => {
  /** The part of a binding that its writers care for: no bookkeeping, and nothing of ours. */
  function essence({ metadata, spec }: ResourceBinding): unknown {
    const { annotations = {}, labels, finalizers, ownerReferences } = metadata
    const others = Object.entries(annotations).filter(([key]) => !OUR_ANNOTATIONS.some((our) => our === key))
    return { others: Object.fromEntries(others), labels, finalizers, ownerReferences, spec }
  }

  function withNotesOf(binding: ResourceBinding, source: ResourceBinding | undefined): ResourceBinding {
    const ours = Object.entries(source?.metadata.annotations ?? {}).filter(([key]) =>
      OUR_ANNOTATIONS.some((our) => our === key),
    )
    const annotations = { ...binding.metadata.annotations, ...Object.fromEntries(ours) }
    return { ...binding, metadata: { ...binding.metadata, annotations } }
  }

  interface Step {
    file: string
    sent: ResourceBinding
    stored: ResourceBinding | undefined
    operations: Operation[]
    object: ResourceBinding
  }

  /**
   * Replays the conversation. An earlier write made each recorded old object. It is the last of our answers that equals it except for
   * our annotations. That drops the writes that lost a conflict just as the API server did. A writer sends back the annotations of
   * the version that it had read.
   */
  async function replay(policies: 'known' | 'unknown'): Promise<Step[]> {
    const steps: Step[] = []
    const versions = new Map<string, ResourceBinding>()
    for (const each of recorded) {
      if (each.request.kind.kind.endsWith('PropagationPolicy') && policies === 'known') await keepPolicy(each)
      if (!isApp(each)) continue
      const object = each.request.object as ResourceBinding
      const old = each.request.oldObject as ResourceBinding | null
      let stored: ResourceBinding | undefined
      if (old) {
        const writer = steps.findLast((step) => isDeepStrictEqual(essence(step.object), essence(old)))
        if (!writer) throw new Error(`${each.file}: none of our answers made the stored object`)
        stored = withNotesOf(old, writer.object)
        versions.set(old.metadata.resourceVersion ?? '', stored)
      }
      const version = object.metadata.resourceVersion
      const read = version === undefined ? steps.at(-1)?.object : versions.get(version)
      const sent = withNotesOf(object, read)
      const answer = review({ ...each.request, object: sent, oldObject: stored ?? null })
      steps.push({ file: each.file, sent, stored, ...answer })
    }
    return steps
  }

  describe.each(['known', 'unknown'] as const)('the policies are %s', (policies) => {
    test('every write comes out narrowed to the data, with the policy as its base', async () => {
      for (const { file, object } of await replay(policies)) {
        const cutDown = file.startsWith('026')
        expect({ file, placement: object.spec.placement, ...notesOf(object) }).toEqual({
          file,
          placement: placement('member2'),
          base: affinity(...(cutDown ? TWO : THREE)),
          required: ['member2'],
          hold: undefined,
        })
      }
    })

    test("only the policy's placement is patched, and no echo of ours", async () => {
      for (const { file, sent, operations } of await replay(policies)) {
        const isEcho = isDeepStrictEqual(sent.spec.placement, placement('member2'))
        const paths = operations.map(({ path }) => path).filter((path) => !path.startsWith('/metadata/annotations/'))
        expect({ file, paths }).toEqual({ file, paths: isEcho ? [] : ['/spec/placement/clusterAffinity/clusterNames'] })
        expect({ file, operations: isEcho ? operations : [] }).toEqual({ file, operations: [] })
      }
    })

    test('overwrites of the detector change nothing stored: no write, no schedule', async () => {
      for (const { file, sent, stored, object } of await replay(policies)) {
        if (!stored || !isDeepStrictEqual(sent.spec.placement, placement(...THREE))) continue
        expect({ file, placement: object.spec.placement, notes: notesOf(object) }).toEqual({
          file,
          placement: stored.spec.placement,
          notes: notesOf(stored),
        })
      }
    })

    test('all fields besides the affinity arrive as the writers sent them', async () => {
      for (const { file, sent, object } of await replay(policies)) {
        const without = (binding: ResourceBinding) => essence({ ...binding, spec: { ...binding.spec, placement: {} } })
        expect({ file, rest: without(object) }).toEqual({ file, rest: without(sent) })
      }
    })
  })
})

describe('called for each recorded request alone, without annotations of ours', () => {
  async function each(policies: 'known' | 'unknown') {
    const answers: { file: string; sent: ResourceBinding; operations: Operation[]; object: ResourceBinding }[] = []
    for (const one of recorded) {
      if (one.request.kind.kind.endsWith('PropagationPolicy') && policies === 'known') await keepPolicy(one)
      if (!isBinding(one)) continue
      answers.push({ file: one.file, sent: one.request.object as ResourceBinding, ...review(one.request) })
    }
    return answers
  }

  test.each(['known', 'unknown'] as const)(
    'a write of the placement is narrowed, with that base, when policies are %s',
    async (policies) => {
      const answers = (await each(policies)).filter(
        ({ sent }) => sent.metadata.name === APP && sent.spec.placement?.clusterAffinity?.clusterNames?.length !== 1,
      )
      expect(answers.length).toBe(10)
      for (const { file, sent, object } of answers) {
        const base = { clusterAffinity: sent.spec.placement?.clusterAffinity }
        expect({ file, placement: object.spec.placement, ...notesOf(object) }).toEqual({
          file,
          placement: placement('member2'),
          base,
          required: ['member2'],
          hold: undefined,
        })
      }
    },
  )

  // A narrow affinity without our annotation is its own base at admission. The loop takes the base of the policy later.
  test.each([{ policies: 'known' as const }, { policies: 'unknown' as const }])(
    'any other write keeps its spec, with its affinity as base: policies $policies',
    async ({ policies }) => {
      const answers = (await each(policies)).filter(
        ({ sent }) => sent.metadata.name === APP && sent.spec.placement?.clusterAffinity?.clusterNames?.length === 1,
      )
      expect(answers.length).toBe(8)
      for (const { file, sent, operations, object } of answers) {
        const paths = operations.map(({ path }) => path)
        expect({
          file,
          foreign: paths.filter((path) => !path.startsWith('/metadata/annotations/lodestone.dev~1')),
        }).toEqual({ file, foreign: [] })
        expect({ file, spec: object.spec, ...notesOf(object) }).toEqual({
          file,
          spec: sent.spec,
          base: affinity('member2'),
          required: ['member2'],
          hold: undefined,
        })
      }
    },
  )

  test.each(['known', 'unknown'] as const)(
    'attached, cluster and other bindings are left untouched when policies are %s',
    async (policies) => {
      const others = (await each(policies)).filter(({ sent }) => sent.metadata.name !== APP)
      expect(new Set(others.map(({ sent }) => sent.metadata.name))).toEqual(
        new Set(['my-config-configmap', 'reader-clusterrole', 'grp-deployment']),
      )
      expect(others.filter(({ operations }) => operations.length > 0)).toEqual([])
    },
  )
})

describe('asked about the recorded policies', () => {
  const policies = recorded.filter(({ request }) => request.kind.kind.endsWith('PropagationPolicy'))

  test('there are five, of which two are reinvocations', () => {
    expect(policies.map(({ file }) => file.slice(0, 3))).toEqual(['001', '002', '025', '027', '028'])
  })

  /** As a policy is that never spoke of it. */
  function silent({ request, file }: Recorded): Recorded {
    const { propagateDeps: _said, ...spec } = (request.object as PropagationPolicy).spec
    return { file, request: { ...request, object: { ...(request.object as PropagationPolicy), spec } as K8sObject } }
  }

  test.each(policies)('as it was recorded none is changed: $file', ({ request }) => {
    expect(review(request).operations).toEqual([])
  })

  test.each(policies.filter(({ request }) => request.name === 'app').map(silent))(
    'one that selects the bound Deployment gets propagateDeps with its mark: $file',
    ({ request }) => {
      expect(review(request).operations).toEqual([
        { op: 'add', path: '/metadata/annotations/lodestone.dev~1propagate-deps-set', value: 'true' },
        { op: 'add', path: '/spec/propagateDeps', value: true },
      ])
    },
  )

  test.each(policies.filter(({ request }) => request.name === 'app').map(silent))(
    'asked again about its own answer it changes nothing: $file',
    ({ request }) => {
      expect(review({ ...request, object: review(request).object }).operations).toEqual([])
    },
  )
})

import { describe, expect, test } from 'vitest'
import { makeUsable, nodesWith } from '../../../test/builders.ts'
import { NODE_REQUIREMENTS_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import type { NodeAffinity } from '../../api/node.ts'
import type { PodSpec } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { isDaemonSet, narrowDaemonSet, planDaemonSet } from './daemon-set.ts'
import type { WantedVolume } from './requests/resolve.ts'
import { podPlacesOf } from './requests/templates.ts'

interface DaemonSet extends K8sObject {
  spec: { template: { spec: PodSpec } }
}

function daemonSet(nodeAffinity?: NodeAffinity, annotations?: Record<string, string>): DaemonSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: defined({ name: 'agent', namespace: 'default', annotations }),
    spec: {
      template: { spec: defined({ containers: [{ name: 'main' }], affinity: nodeAffinity && { nodeAffinity } }) },
    },
  }
}

const wants = (label: string, enforcement: 'Required' | 'Preferred' = 'Required'): WantedVolume => ({
  path: 'p',
  request: { name: 'mnist', enforcement },
  volume: makeUsable('vol1', { nodeAffinity: nodesWith(label) }),
  source: { hostPath: { path: '/d' } },
})

function narrowed(object: DaemonSet, ...wanted: WantedVolume[]): DaemonSet {
  const [place] = podPlacesOf(object, { templates: ['spec.template'] })
  if (!place?.pod) throw new Error('no template')
  return narrowDaemonSet(object, place.pod, wanted)
}

const affinityOf = ({ spec }: DaemonSet) => spec.template.spec.affinity?.nodeAffinity
const requirement = (key: string) => ({ key, operator: 'Exists' })
const termsOf = (object: DaemonSet) =>
  affinityOf(object)?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms.map(
    ({ matchExpressions = [] }) => matchExpressions.map(({ key }) => key),
  )

describe('a DaemonSet', () => {
  test('without an affinity gets the nodes of its volume, and a note of what was added', () => {
    const after = narrowed(daemonSet(), wants('data/a'))
    expect(after).toEqual(
      daemonSet(nodesWith('data/a'), { [NODE_REQUIREMENTS_ANNOTATION]: JSON.stringify([requirement('data/a')]) }),
    )
  })

  test('that is narrowed stays the same object', () => {
    const after = narrowed(daemonSet(nodesWith('gpu', 'tpu')), wants('data/a'), wants('data/b'))
    expect(termsOf(after)).toEqual([
      ['gpu', 'data/a', 'data/b'],
      ['tpu', 'data/a', 'data/b'],
    ])
    expect(narrowed(after, wants('data/a'), wants('data/b'))).toBe(after)
  })

  test('gets the new nodes in place of the old ones when the data changes', () => {
    const own = daemonSet(nodesWith('gpu'))
    const before = narrowed(own, wants('data/old'))
    expect(termsOf(narrowed(before, wants('data/new')))).toEqual([['gpu', 'data/new']])
    expect(termsOf(narrowed(narrowed(daemonSet(), wants('data/old')), wants('data/new')))).toEqual([['data/new']])
  })

  test('has only its present nodes after a rollback to the template of earlier data', () => {
    const [oldLabel, newLabel] = ['a', 'b'].map((digit) => `vck.intelai.org/1-${digit.repeat(13)}`) as [string, string]
    const before = narrowed(daemonSet(nodesWith('gpu')), wants(oldLabel))
    const after = narrowed(before, wants(newLabel))
    // As kubectl rollout undo, which changes the template alone.
    const restored = narrowed({ ...after, spec: before.spec }, wants(newLabel))
    expect(termsOf(restored)).toEqual([['gpu', newLabel]])
    expect(narrowed(restored, wants(newLabel))).toBe(restored)
    const free = narrowed({ ...restored, spec: before.spec })
    expect(termsOf(free)).toEqual([['gpu']])
    expect(free.metadata.annotations).toEqual({})
  })

  test('has a note of bounded length', () => {
    const label = (i: number) => `vck.intelai.org/1-${String(i).padStart(13, '0')}`
    const labels = Array.from({ length: 100 }, (_, i) => label(i))
    const last = labels.reduce((object, one) => narrowed(object, wants(one)), daemonSet())
    const note: unknown[] = JSON.parse(last.metadata.annotations?.[NODE_REQUIREMENTS_ANNOTATION] ?? '')
    expect(note).toHaveLength(41)
    expect(note.slice(-2)).toEqual([requirement(label(98)), requirement(label(99))])
  })

  test('has its own terms back when each alternative of the data is gone', () => {
    const alternatives = { ...wants('x'), volume: makeUsable('vol1', { nodeAffinity: nodesWith('data/a', 'data/b') }) }
    const after = narrowed(narrowed(daemonSet(nodesWith('gpu', 'tpu')), alternatives))
    expect(termsOf(after)).toEqual([['gpu'], ['tpu']])
    expect(after.metadata.annotations).toEqual({})
  })

  test('has no required nodes when its user had none and its volumes need none', () => {
    const after = narrowed(narrowed(daemonSet(), wants('data/a')))
    expect(after.spec.template.spec.affinity).toBeUndefined()
  })

  test('keeps the other affinities of its user when its volumes are gone', () => {
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {} }] }
    const own = daemonSet()
    own.spec.template.spec.affinity = { podAntiAffinity } as NonNullable<PodSpec['affinity']>
    const after = narrowed(narrowed(own, wants('data/a')))
    expect(after.spec.template.spec).toEqual(own.spec.template.spec)
  })

  test('loses a note of requirements that are gone', () => {
    const note = { [NODE_REQUIREMENTS_ANNOTATION]: JSON.stringify([requirement('data/a')]) }
    expect(narrowed(daemonSet(undefined, note))).toEqual(daemonSet(undefined, {}))
  })

  test('keeps a requirement that its user wrote, although a volume has the same', () => {
    const own = daemonSet(nodesWith('data/a'))
    expect(narrowed(own, wants('data/a'))).toBe(own)
    expect(termsOf(narrowed(narrowed(own, wants('data/a'), wants('data/b'))))).toEqual([['data/a']])
  })

  test('is not narrowed for a volume that it only prefers', () => {
    const own = daemonSet()
    expect(narrowed(own, wants('data/a', 'Preferred'))).toBe(own)
  })

  test.each(['no JSON', '{}', '[1, {"key": 1}, {"key": "gpu", "operator": "Exists", "values": [1]}]'])(
    'with a damaged note (%s) keeps its terms',
    (note) => {
      const own = daemonSet(nodesWith('gpu'), { [NODE_REQUIREMENTS_ANNOTATION]: note })
      expect(termsOf(narrowed(own, wants('data/a')))).toEqual([['gpu', 'data/a']])
    },
  )
})

test.each([
  ['DaemonSet', true],
  ['Deployment', false],
])('a %s: %s', (kind, want) => {
  expect(isDaemonSet({ kind })).toBe(want)
})

describe('the plan for a stored DaemonSet', () => {
  const type: ResourceType = { group: 'apps', version: 'v1', kind: 'DaemonSet', plural: 'daemonsets', namespaced: true }
  const stored = { ...daemonSet(), metadata: { ...daemonSet().metadata, resourceVersion: '7' } }

  test('is a patch of the version that was read', () => {
    const object = narrowed(stored, wants('data/a'))
    expect(planDaemonSet(type, stored, { kind: 'patch', object })).toEqual({
      actions: [
        {
          kind: 'patch',
          of: { type, namespace: 'default', name: 'agent' },
          patch: {
            metadata: {
              resourceVersion: '7',
              annotations: { [NODE_REQUIREMENTS_ANNOTATION]: JSON.stringify([requirement('data/a')]) },
            },
            spec: { template: { spec: { affinity: { nodeAffinity: nodesWith('data/a') } } } },
          },
        },
      ],
    })
  })

  test.each([
    { kind: 'allow' as const },
    { kind: 'deny' as const, errors: [] },
    { kind: 'patch' as const, object: stored },
  ])('is empty if the decision is $kind without a change', (outcome) => {
    expect(planDaemonSet(type, stored, outcome).actions).toEqual([])
  })
})

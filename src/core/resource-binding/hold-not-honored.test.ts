import { describe, expect, test } from 'vitest'
import { located, makeBinding, makeClaim, makeInput, NOW, unknown } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { HOLD_ANNOTATION } from '../../api/lodestone.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { decideBinding } from './decide.ts'
import { activeHold, clustersThatRun, holdNotHonored, withoutClusters } from './hold-not-honored.ts'
import { planBinding } from './plan.ts'

const claims = [unknown()]
const held = decideBinding(makeInput({ binding: makeBinding({}, { resourceVersion: '7' }), claims })).binding
const scheduled = withSpec(held, { clusters: [{ name: 'member3' }, { name: 'member1' }] })
const hold = { message: 'default/sales: no DataSource yet', reason: 'Unresolved', since: new Date(NOW).toISOString() }

function withSpec(binding: ResourceBinding, spec: Partial<ResourceBinding['spec']>): ResourceBinding {
  return { ...binding, spec: { ...binding.spec, ...spec } }
}

function withHold(binding: ResourceBinding, text: string): ResourceBinding {
  const annotations = { ...binding.metadata.annotations, [HOLD_ANNOTATION]: text }
  return { ...binding, metadata: { ...binding.metadata, annotations } }
}

describe('a hold was not honored if the binding is on hold and scheduled', () => {
  test.each([
    { name: 'on hold', binding: held, active: hold, notHonored: undefined },
    { name: 'on hold and scheduled', binding: scheduled, active: hold, notHonored: hold },
    { name: 'scheduled, without a hold', binding: makeBinding({ clusters: [{ name: 'member1' }] }) },
    {
      name: 'scheduled, and suspended by another writer',
      binding: makeBinding({ clusters: [{ name: 'member1' }], suspension: { scheduling: true } }),
    },
    { name: 'scheduled, with its suspension removed', binding: withSpec(scheduled, { suspension: {} }) },
    {
      name: 'scheduled after its hold was released',
      binding: withHold(scheduled, JSON.stringify({ ...hold, released: true })),
    },
    { name: 'scheduled, with an invalid annotation', binding: withHold(scheduled, 'on hold') },
    {
      name: 'on hold while a cluster evicts the workload',
      binding: withSpec(scheduled, { gracefulEvictionTasks: [{ fromCluster: 'member2' }] }),
      active: hold,
    },
  ])('$name', ({ binding, active, notHonored }) => {
    expect([activeHold(binding), holdNotHonored(binding)]).toEqual([active, notHonored])
  })
})

test('a cluster runs the workload if its agent has applied it or reports its status', () => {
  const aggregatedStatus = [
    { clusterName: 'applied', applied: true },
    { clusterName: 'failed', applied: false },
    { clusterName: 'unknown' },
    { clusterName: 'reported', status: {} },
  ]
  expect(clustersThatRun({ ...scheduled, status: { aggregatedStatus } })).toEqual(['applied', 'reported'])
  expect(clustersThatRun({ ...scheduled, status: {} })).toEqual([])
  expect(clustersThatRun(scheduled)).toEqual([])
})

test('without its clusters, the binding is as it was on hold', () => {
  expect(withoutClusters(scheduled)).toEqual(held)
  expect(scheduled.spec.clusters).toHaveLength(2)
})

describe('the loop', () => {
  const decisionId = bindingDecisionId(held)
  const what = 'scheduled to member1, member3 although it is on hold (Unresolved: default/sales: no DataSource yet); '
  const patchOf = (binding: ResourceBinding, sources = claims) => {
    const { actions, moves, notHonored } = planBinding(makeInput({ binding, stored: binding, claims: sources }))
    return { patches: actions.flatMap((action) => (action.kind === 'patch' ? action.patch : [])), moves, notHonored }
  }

  test('removes the clusters of a workload that runs nowhere, and keeps its hold', () => {
    const aggregatedStatus = [{ clusterName: 'member1', applied: false }]

    for (const binding of [scheduled, { ...scheduled, status: { aggregatedStatus } }]) {
      expect(patchOf(binding)).toEqual({
        patches: [{ metadata: { resourceVersion: '7' }, spec: { clusters: null } }],
        moves: false,
        notHonored: { result: 'restored', message: `${what}the hold is restored`, decisionId },
      })
    }
  })

  test('ends the hold of a workload that runs', () => {
    const aggregatedStatus = ['member1', 'member3'].map((clusterName) => ({ clusterName, applied: true }))
    const binding = { ...scheduled, status: { aggregatedStatus } }

    expect(patchOf(binding)).toEqual({
      patches: [
        { metadata: { resourceVersion: '7', annotations: { [HOLD_ANNOTATION]: null } }, spec: { suspension: null } },
      ],
      moves: false,
      notHonored: {
        result: 'scheduled',
        message: `${what}the hold ends, since the workload runs in member1, member3`,
        decisionId,
      },
    })
  })

  test('narrows the workload if its data is located meanwhile', () => {
    const { patches, moves, notHonored } = patchOf(scheduled, [located(['member2'])])

    expect(patches).toMatchObject([
      { spec: { suspension: null, placement: { clusterAffinity: { clusterNames: ['member2'] } } } },
    ])
    expect({ moves, notHonored }).toEqual({
      moves: true,
      notHonored: { result: 'scheduled', message: `${what}the hold is over`, decisionId },
    })
  })

  test('reports nothing for a hold that is honored', () => {
    expect(patchOf(held)).toEqual({ patches: [], moves: false, notHonored: undefined })
  })

  test('writes the condition of each claim, then the binding, then the Events', () => {
    const claimObjects = [makeClaim({}, { name: 'a' }), makeClaim({}, { name: 'b' })]
    const { actions } = planBinding({ ...makeInput({ binding: scheduled, stored: scheduled, claims }), claimObjects })

    expect(actions.map((action) => (action.kind === 'patch' ? action.of.name : action.kind))).toEqual([
      ...['a', 'b', 'app-deployment'],
      ...['event', 'event', 'event'],
    ])
    const event = {
      type: 'Warning',
      reason: 'LocalityHoldNotHonored',
      message: `${what}the hold is restored`,
      decisionId,
    }
    expect(actions.slice(3)).toEqual([scheduled, ...claimObjects].map((about) => ({ kind: 'event', about, ...event })))
  })
})

describe('admission leaves a hold that was not honored to the loop', () => {
  const admit = (binding: ResourceBinding, stored = scheduled) =>
    decideBinding(makeInput({ binding, stored, claims, leavesMovesToLoop: true }))

  test('a write of another field changes nothing', () => {
    const binding = withSpec(scheduled, { replicas: 5 })
    const decision = admit(binding)
    expect(decision.state).toBe('OnHold')
    expect(decision.binding).toBe(binding)
  })

  test('a write of the detector without annotations keeps hold and clusters', () => {
    const binding = withSpec(scheduled, { placement: { clusterAffinity: { clusterNames: ['member1'] } } })
    const { annotations: _dropped, ...metadata } = binding.metadata

    expect(admit(binding).binding.spec).toEqual(binding.spec)
    expect(admit({ ...binding, metadata }).state).toBe('Ignored')
  })

  test('a user who removes the suspension gets it again, as long as its cause lasts', () => {
    expect(admit(withSpec(held, { suspension: {} }), held)).toMatchObject({ state: 'OnHold', binding: held })
  })

  test('a binding on hold that is created from a backup stays on hold', () => {
    expect(decideBinding(makeInput({ binding: held, claims, leavesMovesToLoop: true })).state).toBe('OnHold')
  })

  test('the write of the loop that removes the clusters is accepted as it is', () => {
    expect(admit(held).binding).toBe(held)
    expect(admit(held).state).toBe('OnHold')
  })

  test('the write of the loop that ends the hold is accepted as it is', () => {
    const running = { ...scheduled, status: { aggregatedStatus: [{ clusterName: 'member1', applied: true }] } }
    const ended = decideBinding(makeInput({ binding: running, stored: running, claims })).binding

    expect(ended.spec.suspension).toBeUndefined()
    expect(admit(ended).binding).toBe(ended)
  })
})

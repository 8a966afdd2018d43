import { describe, expect, test } from 'vitest'
import {
  located,
  lookup,
  makeBinding,
  makeCluster,
  makeInput,
  NOW,
  nowhere,
  unknown,
} from '../../../../test/builders.ts'
import { labeled, lazy, one, outcome, overwritten, stored, three } from '../../../../test/recorded-base.ts'
import { APPLIED_PLACEMENT_ANNOTATION, type ResourceBinding } from '../../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../../api/lodestone.ts'
import { readAnnotations } from '../annotations.ts'
import { decideBinding } from '../decide.ts'

describe('a lazy policy that changed since it was applied', () => {
  const broken = lookup(
    makeCluster('member1'),
    makeCluster('member2', { taints: [{ key: 'broken', effect: 'NoExecute' }] }),
    makeCluster('member3'),
  )
  const before = stored(one('member1', 'member2'))
  const runs = { ...before, spec: { ...before.spec, clusters: [{ name: 'member2' }] } }
  const evicted = { ...runs, spec: { ...runs.spec, clusters: [], gracefulEvictionTasks: [{ fromCluster: 'member2' }] } }
  const claims = [located(['member2'])]

  test.each([
    { name: 'other clusters', policy: lazy(one('member3')) },
    { name: 'only the lost cluster', policy: lazy(one('member2')) },
    { name: 'all clusters', policy: lazy(three) },
  ])('does not keep a workload from the other clusters of its base: it allows $name', ({ policy }) => {
    for (const by of [evicted, runs]) {
      const given = { binding: evicted, stored: by, claims, clusters: broken, policy }
      expect(outcome(given)).toEqual({ base: one('member1', 'member2'), affinity: one('member1', 'member2') })
    }
  })

  test.each([
    { name: 'this replica has the policy', policy: lazy(one('member9')) },
    { name: 'this replica has an older policy', policy: lazy(one('member1', 'member2')) },
  ])('counts with a change of the workload, also if no cluster can take it: $name', ({ policy }) => {
    const sent = overwritten(
      { ...runs, spec: { ...runs.spec, resource: { ...runs.spec.resource, resourceVersion: '2' } } },
      {
        clusterAffinity: { clusterNames: ['member9'] },
      },
    )
    const given = { stored: runs, claims, clusters: broken, policy }
    const applied = decideBinding(makeInput({ ...given, binding: sent })).binding
    expect(applied.spec.placement).toEqual(one('member9'))
    expect(readAnnotations(applied.metadata.annotations).base).toEqual(one('member9'))
    expect(decideBinding(makeInput({ ...given, binding: applied })).binding).toBe(applied)
  })

  describe('and then equals the narrowing', () => {
    const policy = lazy(one('member2'))
    const changed = (binding: ResourceBinding, resourceVersion: string): ResourceBinding => ({
      ...binding,
      spec: { ...binding.spec, resource: { ...binding.spec.resource, resourceVersion } },
    })
    const sent = changed(overwritten(runs, one('member2')), '2')
    const scaled = { ...sent, spec: { ...sent.spec, placement: { ...one('member2'), replicaScheduling: {} } } }

    test.each([
      { name: 'only the workload changes', binding: sent },
      { name: 'the rest of the placement changes too', binding: scaled },
    ])('is the new base when the detector applies it: $name', ({ binding }) => {
      const given = { stored: runs, claims, policy }
      const applied = decideBinding(makeInput({ ...given, binding })).binding
      expect(readAnnotations(applied.metadata.annotations).base).toEqual(one('member2'))
      expect(decideBinding(makeInput({ ...given, binding: applied })).binding).toBe(applied)
    })

    test('does not send an evicted workload to the former placement after that', () => {
      const applied = decideBinding(makeInput({ binding: sent, stored: runs, claims, policy })).binding
      const gone = { ...applied, spec: evicted.spec }
      const lost = { ...gone, spec: { ...gone.spec, placement: applied.spec.placement } } as ResourceBinding
      expect(outcome({ binding: lost, stored: applied, claims, clusters: broken, policy }).affinity).toEqual(
        one('member2'),
      )
    })

    test('is not the base when another client changes the binding', () => {
      const labelled = {
        ...runs,
        metadata: { ...runs.metadata, annotations: { ...runs.metadata.annotations, a: 'b' } },
      }
      expect(outcome({ binding: labelled, stored: runs, claims, policy }).base).toEqual(one('member1', 'member2'))
    })
  })

  test('does not end the base, which counts again when one of its clusters is available', () => {
    const taints = [{ key: 'broken', effect: 'NoSchedule' }] as const
    const full = lookup(...['member1', 'member2', 'member9'].map((name) => makeCluster(name, { taints: [...taints] })))
    const given = { claims, policy: lazy(one('member9')) }
    const lost = decideBinding(makeInput({ ...given, binding: evicted, stored: runs, clusters: full })).binding
    expect(readAnnotations(lost.metadata.annotations).base).toEqual(one('member1', 'member2'))
    expect(lost.spec.placement).toEqual(one('member2'))
    expect(outcome({ ...given, binding: lost, stored: lost, clusters: broken }).affinity).toEqual(
      one('member1', 'member2'),
    )
  })

  test('does not keep a workload in a cluster that its selectors do not match any more', () => {
    const base = { clusterAffinity: { labelSelector: { matchLabels: { tier: 'core' } } } }
    const core = (name: string) => makeCluster(name, {}, { tier: 'core' })
    const narrowed = decideBinding(
      makeInput({ binding: makeBinding({ placement: base }), claims, clusters: lookup(core('member2')) }),
    ).binding
    const running = { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'member2' }] } }
    const clusters = lookup(core('member1'), makeCluster('member2'))
    const given = { binding: running, stored: running, claims, clusters, policy: lazy(one('member9')) }
    expect(outcome(given).affinity).toEqual(base)
  })

  test('does not apply to a workload that has lost every cluster of its base', () => {
    const alone = { ...evicted, metadata: { ...evicted.metadata, ...stored(one('member2')).metadata } }
    const given = { binding: alone, stored: alone, claims, clusters: broken, policy: lazy(one('member3')) }
    expect(outcome(given)).toEqual({ base: one('member2'), affinity: one('member2') })
  })

  test.each(['NoClusterFit', 'Unschedulable'])('does not keep a lost workload from its base after %s', (reason) => {
    const narrowed = stored(one('member1', 'member2'), 'member1')
    const applied = { [APPLIED_PLACEMENT_ANNOTATION]: JSON.stringify(narrowed.spec.placement) }
    const refused = {
      ...narrowed,
      metadata: { ...narrowed.metadata, annotations: { ...narrowed.metadata.annotations, ...applied } },
      status: {
        lastScheduledTime: new Date(NOW).toISOString(),
        conditions: [{ type: 'Scheduled', status: 'False' as const, reason }],
      },
    }
    const clusters = lookup(makeCluster('member1'), makeCluster('member2'))
    const policy = lazy(one('member1'))
    const given = { binding: refused, stored: refused, claims: [located(['member1'])], clusters, policy }
    expect(outcome(given)).toEqual({ base: one('member1', 'member2'), affinity: one('member1', 'member2') })
  })

  test('does not keep a workload from its base after its last claim is gone', () => {
    const given = { claims: [], clusters: broken, policy: lazy(one('member1', 'member3')), now: NOW + 3_600_000 }
    const waits = decideBinding(
      makeInput({ ...given, now: NOW, binding: runs, stored: runs, clusters: undefined }),
    ).binding
    const left = decideBinding(makeInput({ ...given, binding: waits, stored: waits, clusters: undefined }))
    expect(left).toMatchObject({ state: 'Relaxed', binding: { spec: { placement: one('member2') } } })
    expect(
      decideBinding(makeInput({ ...given, binding: left.binding, stored: waits, leavesMovesToLoop: true })).binding,
    ).toBe(left.binding)
    const lost = { ...left.binding, spec: { ...left.binding.spec, clusters: [] } }
    const status = { lastScheduledTime: new Date(NOW).toISOString() }
    const emptied = { ...lost, status }
    const decided = decideBinding(makeInput({ ...given, binding: emptied, stored: emptied }))
    expect(decided.binding.spec.placement).toEqual(one('member1', 'member2'))
    const back = { ...decided.binding, spec: { ...decided.binding.spec, clusters: [{ name: 'member1' }] } }
    const restored = decideBinding(makeInput({ ...given, binding: back, stored: back }))
    expect([restored.state, readAnnotations(restored.binding.metadata.annotations)]).toEqual(['Restored', {}])
  })

  test('does not keep a workload from its base after its claim demands nothing more', () => {
    const ignored = [nowhere({ enforcement: 'Preferred' })]
    const given = { claims: ignored, clusters: broken, policy: lazy(one('member1', 'member3')) }
    const stays = decideBinding(makeInput({ ...given, binding: runs, stored: runs, clusters: undefined }))
    expect(stays).toMatchObject({ state: 'Kept', binding: { spec: { placement: one('member2') } } })
    const again = decideBinding(
      makeInput({ ...given, binding: stays.binding, stored: stays.binding, clusters: undefined }),
    )
    expect(again.binding).toBe(stays.binding)
    const emptied = {
      ...stays.binding,
      spec: { ...stays.binding.spec, clusters: [] },
      status: { lastScheduledTime: new Date(NOW).toISOString() },
    }
    const decided = decideBinding(makeInput({ ...given, binding: emptied, stored: emptied }))
    expect(decided.binding.spec.placement).toEqual(one('member1', 'member2'))
  })

  test('does not keep a workload from its base after a hold', () => {
    const waits = stored(three, 'member3')
    const policy = lazy(one('member1', 'member3'))
    const held = decideBinding(makeInput({ binding: waits, stored: waits, claims: [unknown()], policy })).binding
    expect([held.spec.suspension, held.spec.placement]).toEqual([{ scheduling: true }, one('member3')])
    const back = decideBinding(
      makeInput({ binding: held, stored: held, claims: [located(['member3'])], policy }),
    ).binding
    const lost = {
      ...back,
      spec: { ...back.spec, clusters: [], gracefulEvictionTasks: [{ fromCluster: 'member3' }] },
      status: { lastScheduledTime: new Date(NOW).toISOString() },
    }
    const clusters = lookup('member1', 'member2')
    const given = { binding: lost, stored: lost, claims: [located(['member3'])], policy, clusters }
    expect(outcome(given)).toEqual({ base: three, affinity: three })
  })

  test('does not apply to a workload that may stay in its cluster', () => {
    const given = { binding: runs, stored: runs, claims, clusters: broken, policy: lazy(one('member3')) }
    expect(outcome(given).affinity).toEqual(one('member2'))
  })

  test('does not end the base when the API server sends our answer again', () => {
    const wide = stored({ clusterAffinity: {} }, 'member1', 'member2')
    const given = { stored: wide, claims: [located(['member2', 'member5'])], policy: lazy(one('member2')) }
    const first = decideBinding(makeInput({ ...given, binding: wide })).binding
    expect(readAnnotations(first.metadata.annotations).base).toEqual({ clusterAffinity: {} })
    expect(first.spec.placement).toEqual(one('member2'))
    expect(decideBinding(makeInput({ ...given, binding: first })).binding).toBe(first)
  })

  test('is not taken for the base when our answer to another placement equals it', () => {
    const edited = stored(one('member1', 'member2'), 'member2', 'member3')
    const given = { stored: edited, claims: [located(['member2', 'member3'])], policy: lazy(one('member2', 'member3')) }
    const first = decideBinding(makeInput({ ...given, binding: overwritten(edited, three) })).binding
    expect(first.spec.placement).toEqual(one('member2', 'member3'))
    expect(decideBinding(makeInput({ ...given, binding: first })).binding).toBe(first)
  })

  test('keeps the names of groups, which are of a later round, at each write of the loop', () => {
    const second = { exclude: ['member3'] }
    const groups = (affinityName: string, rest: object) => ({ clusterAffinities: [{ affinityName, ...rest }] })
    const wide = stored(groups('second', second), 'member1')
    const locality = { ...readAnnotations(wide.metadata.annotations).locality, round: 1 }
    const renamed: ResourceBinding = {
      ...wide,
      metadata: {
        ...wide.metadata,
        annotations: { ...wide.metadata.annotations, [LOCALITY_ANNOTATION]: JSON.stringify(locality) },
      },
      spec: {
        ...wide.spec,
        placement: groups('second.1', { ...second, clusterNames: ['member1'] }),
        clusters: [{ name: 'member1' }],
      },
    }
    const clusters = lookup(makeCluster('member1', {}, { tier: 'core' }), 'member2', 'member3')
    const given = { claims: [located(['member2'])], policy: lazy(labeled()), clusters }
    const first = decideBinding(makeInput({ ...given, binding: renamed, stored: renamed }))
    expect(first.binding.spec.placement).toEqual(renamed.spec.placement)
    expect(readAnnotations(first.binding.metadata.annotations).base).toEqual(groups('second', second))
    const next = decideBinding(makeInput({ ...given, binding: first.binding, stored: first.binding }))
    expect(next.binding).toBe(first.binding)
  })

  test('gives the same reason for excluded data in admission and in the loop', () => {
    const wide = stored(one('member1', 'member2', 'member9'))
    const running = { ...wide, spec: { ...wide.spec, clusters: [{ name: 'member2' }] } }
    const given = { binding: running, stored: running, claims: [located(['member9'])], policy: lazy(three) }
    const [inAdmission, inLoop] = [true, false].map(
      (leavesMovesToLoop) => decideBinding(makeInput({ ...given, leavesMovesToLoop })).message,
    )
    expect(inAdmission).toEqual(inLoop)
  })

  test('does not apply to a workload that waits for its first cluster', () => {
    const waits = makeBinding({ placement: one('member2') })
    const given = { binding: waits, stored: waits, claims, clusters: broken, policy: lazy(one('member3')) }
    expect(outcome(given).affinity).toEqual(one('member2'))
  })
})

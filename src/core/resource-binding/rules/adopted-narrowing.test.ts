/** Tests that a running workload stays in the clusters that volcano-global chose, and moves only when its data is elsewhere. */
import { describe, expect, test } from 'vitest'
import {
  located,
  lookup,
  makeBinding,
  makeCluster,
  makeInput,
  makePolicyInput,
  nowhere,
  unknown,
} from '../../../../test/builders.ts'
import type { Placement, ResourceBinding } from '../../../api/karmada.ts'
import { applyMergePatch } from '../../../base/merge-patch.ts'
import { planMigration } from '../../../cli/migrate/plan-migration.ts'
import type { ClaimAnswer } from '../../data-source/locate.ts'
import { readAnnotations } from '../annotations.ts'
import { decideBinding } from '../decide.ts'
import type { BindingInput } from '../input.ts'
import { parseInput } from '../parse-input.ts'
import { adoptedNarrowing } from './situation.ts'

const EXCLUDED = 'datadependency.volcano.sh/excluded-clusters'
const ofPolicy: Placement = { clusterAffinity: { exclude: ['m1'] } }
const job = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'app' }
const tainted = makeCluster('m3', { taints: [{ key: 'k', effect: 'NoSchedule' }] })

/** A workload that volcano-global placed. Its policy excludes m1; the data is in m2. */
function placed(spec: Partial<ResourceBinding['spec']> = {}, excluded = 'm1,m3'): ResourceBinding {
  const placement = { clusterAffinity: { exclude: ['m1', 'm3'] } }
  return makeBinding({ placement, clusters: [{ name: 'm2' }], ...spec }, { annotations: { [EXCLUDED]: excluded } })
}

const input = (stored: ResourceBinding, claims: readonly ClaimAnswer[], more: Partial<BindingInput> = {}) =>
  makeInput({
    stored,
    binding: stored,
    claims,
    clusters: lookup('m1', 'm2', 'm3'),
    policy: makePolicyInput({ placement: ofPolicy }),
    ...more,
  })

/** What admission decides on a write. */
const admit = (stored: ResourceBinding, binding: ResourceBinding, claims: readonly ClaimAnswer[]) =>
  decideBinding(input(stored, claims, { binding, leavesMovesToLoop: true }))

const namesOf = ({ spec }: ResourceBinding) => spec.placement?.clusterAffinity?.clusterNames

const WITHOUT_LOCATION: { name: string; claims: ClaimAnswer[]; clusters?: BindingInput['clusters'] }[] = [
  { name: 'the location is unknown', claims: [unknown()] },
  { name: 'the location is unknown, which the claim ignores', claims: [unknown({ onUnresolved: 'Ignore' })] },
  { name: 'the data does not exist', claims: [nowhere()] },
  { name: 'the policy does not allow the cluster of the data', claims: [located(['m1'])] },
  { name: 'one of two locations is unknown', claims: [located(['m2', 'm3']), unknown({ claim: 'default/z' })] },
  { name: 'the cluster of the data cannot take it', claims: [located(['m3'])], clusters: lookup('m1', 'm2', tainted) },
]

describe.each(WITHOUT_LOCATION)('while $name, a workload that volcano-global placed stays there', (given) => {
  const { claims, clusters = lookup('m1', 'm2', 'm3') } = given

  test('when the loop sees it for the first time', () => {
    const first = decideBinding(input(placed(), claims, { clusters }))
    expect([first.state, namesOf(first.binding)]).toEqual(['Kept', ['m2']])
    expect(decideBinding(input(first.binding, claims, { clusters })).binding).toBe(first.binding)
  })

  test("when Karmada's detector writes the placement of the policy", () => {
    const written = { ...placed(), spec: { ...placed().spec, placement: ofPolicy } }
    const { state, binding } = decideBinding(
      input(placed(), claims, { binding: written, leavesMovesToLoop: true, clusters }),
    )
    expect([state, namesOf(binding)]).toEqual(['Kept', ['m2']])
  })

  test('when lodestone migrate removes the exclusions', () => {
    const object = placed()
    const patch = planMigration({ object, policy: ofPolicy, keepsSuspensions: false })?.patch
    const { state, binding } = decideBinding(
      input(object, claims, { binding: applyMergePatch(object, patch ?? {}) as ResourceBinding, clusters }),
    )
    expect([state, namesOf(binding)]).toEqual(['Kept', ['m2']])
    expect(Object.keys(binding.metadata.annotations ?? {}).join()).not.toContain('volcano')
  })
})

test('only the loop moves the workload after Karmada wrote the placement of the policy', () => {
  const claims = [located(['m3'])]
  const first = decideBinding(input(placed(), [unknown()])).binding
  expect(namesOf(first)).toEqual(['m2'])
  const written = { ...first, spec: { ...first.spec, placement: ofPolicy } }
  const kept = admit(first, written, claims)
  expect([kept.state, namesOf(kept.binding)]).toEqual(['Kept', ['m2']])
  const moved = decideBinding(input(kept.binding, claims))
  expect([moved.state, namesOf(moved.binding)]).toEqual(['Narrowed', ['m3']])
})

test.each<{ name: string; ofPolicy: Placement }>([
  { name: 'excludes a cluster too', ofPolicy },
  { name: 'has no affinity', ofPolicy: {} },
])('migrate removes the exclusions from the base too, to move, if the policy $name', (given) => {
  const policy = makePolicyInput({ placement: given.ofPolicy })
  const first = decideBinding(input(placed(), [unknown()], { policy })).binding
  const patch = planMigration({ object: first, policy: given.ofPolicy, keepsSuspensions: false })?.patch
  const migrated = applyMergePatch(first, patch ?? {}) as ResourceBinding
  const kept = decideBinding(input(first, [unknown()], { policy, binding: migrated, leavesMovesToLoop: true }))
  expect([kept.state, namesOf(kept.binding)]).toEqual(['Kept', ['m2']])
  expect(readAnnotations(kept.binding.metadata.annotations).base).toEqual(given.ofPolicy)
  const moved = decideBinding(input(kept.binding, [located(['m3'])], { policy }))
  expect([moved.state, namesOf(moved.binding)]).toEqual(['Narrowed', ['m3']])
})

test('a workload that loses its work by a move stays where volcano-global placed it', () => {
  const kept = decideBinding(input(placed({ resource: job }), [located(['m3'])]))
  expect([kept.state, namesOf(kept.binding)]).toEqual(['Kept', ['m2']])
  expect(kept.message).toContain('which does not move a Job')
})

test.each<{ name: string; binding: ResourceBinding }>([
  { name: 'that is not scheduled', binding: placed({ clusters: [] }) },
  { name: 'without exclusions', binding: placed({}, '') },
  { name: 'that runs in an excluded cluster', binding: placed({ clusters: [{ name: 'm2' }, { name: 'm3' }] }) },
  {
    name: 'that Lodestone has decided on',
    binding: {
      ...placed(),
      metadata: decideBinding(input(placed(), [unknown()])).binding.metadata,
    },
  },
])('nothing is taken over from a binding $name', ({ binding }) => {
  expect(adoptedNarrowing(parseInput(input(binding, [unknown()])))).toBeUndefined()
})

test('only the stored annotation counts: no requester can forge a former placement', () => {
  const stored = makeBinding({ placement: ofPolicy, clusters: [{ name: 'm2' }] })
  const forged = { ...stored, metadata: { ...stored.metadata, annotations: { [EXCLUDED]: 'm1,m3' } } }
  const { state, binding } = admit(stored, forged, [unknown()])
  expect([state, readAnnotations(binding.metadata.annotations).locality]).toEqual(['Ignored', undefined])
})

import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { BindingSnapshot, ResourceBinding } from '../../api/karmada.ts'
import { keepVolumeClaim } from './keep-volume-claim.ts'

const inM1 = [{ name: 'm1', replicas: 2 }]
const by = (name: string, clusters?: BindingSnapshot['clusters']): BindingSnapshot => ({
  namespace: 'default',
  name,
  ...(clusters && { clusters }),
})

function attached(requiredBy: BindingSnapshot[] | undefined, kind = 'PersistentVolumeClaim'): ResourceBinding {
  const { spec, ...rest } = makeBinding({ resource: { apiVersion: 'v1', kind, namespace: 'default', name: 'disk' } })
  const { placement: _, ...withoutPlacement } = spec
  return { ...rest, spec: { ...withoutPlacement, ...(requiredBy && { requiredBy }) } }
}

test.each<{
  name: string
  kind?: string
  before: BindingSnapshot[]
  sent: BindingSnapshot[]
  kept?: BindingSnapshot[]
}>([
  { name: 'that is in no cluster any more', before: [by('a', inM1)], sent: [by('a')], kept: [by('a', inM1)] },
  { name: 'with an empty list', before: [by('a', inM1)], sent: [by('a', [])], kept: [by('a', inM1)] },
  {
    name: 'beside one that moves',
    before: [by('a', inM1), by('b', inM1)],
    sent: [by('a'), by('b', [{ name: 'm2' }])],
    kept: [by('a', inM1), by('b', [{ name: 'm2' }])],
  },
  { name: 'that moves', before: [by('a', inM1)], sent: [by('a', [{ name: 'm2' }])] },
  { name: 'that needs it no more', before: [by('a', inM1)], sent: [] },
  { name: 'that was in no cluster', before: [by('a')], sent: [by('a')] },
  { name: 'that is new', before: [], sent: [by('a')] },
  { name: 'of others', before: [by('others', inM1)], sent: [by('others')] },
  { name: 'with another kind', kind: 'ConfigMap', before: [by('a', inM1)], sent: [by('a')] },
])('a workload $name keeps its PersistentVolumeClaim: $kept', ({ kind, before, sent, kept }) => {
  const isOurs = ({ name }: BindingSnapshot) => name !== 'others'
  const [binding, stored] = [attached(sent, kind), attached(before, kind)]
  const outcome = keepVolumeClaim({ binding, stored, isOurs })
  expect(outcome).toEqual(kept ? { kind: 'patch', object: attached(kept, kind) } : { kind: 'allow' })
  const again = kept ? attached(kept, kind) : binding
  expect(keepVolumeClaim({ binding: again, stored: again, isOurs })).toEqual({ kind: 'allow' })
})

test('a new claim of a volume, and one without workloads, are left as they are', () => {
  const isOurs = () => true
  expect(keepVolumeClaim({ binding: attached([by('a')]), stored: undefined, isOurs })).toEqual({ kind: 'allow' })
  expect(keepVolumeClaim({ binding: attached(undefined), stored: attached([by('a', inM1)]), isOurs })).toEqual({
    kind: 'allow',
  })
})

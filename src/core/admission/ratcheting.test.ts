import { expect, test } from 'vitest'
import { makeClaim } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { K8sObject } from '../../api/meta.ts'
import { denyErrors, type Outcome } from '../outcome.ts'
import { ratchet, type ValidatedParts } from './ratcheting.ts'

const denied = {
  ...denyErrors([{ path: 'spec.system', code: 'Invalid', message: 'must not be blank' }]),
  warnings: ['a warning'],
} as Outcome
const stored = makeClaim({ system: ' ' }, { finalizers: ['theirs'], annotations: { 'lodestone.dev/volumes': 'x' } })
const withMetadata = (metadata: K8sObject['metadata']): DataSourceClaim => ({
  ...stored,
  metadata: { ...stored.metadata, ...metadata },
})
const deletionTimestamp = '2026-11-20T12:00:00Z'

test.each<{ what: string; object: K8sObject; stored?: K8sObject; parts?: ValidatedParts; passes: boolean }>([
  { what: 'a creation', object: stored, passes: false },
  { what: 'a change of the spec', object: makeClaim({ system: '  ' }), stored, passes: false },
  { what: 'a removed finalizer', object: withMetadata({ finalizers: [] }), stored, passes: true },
  { what: 'a status', object: { ...stored, status: { phase: 'Bound' } } as K8sObject, stored, passes: true },
  { what: 'the same spec in another order', object: { ...stored, spec: reversed(stored.spec) }, stored, passes: true },
  {
    what: 'any write of a deleted object',
    object: { ...makeClaim(), metadata: { deletionTimestamp } },
    stored,
    passes: true,
  },
  { what: 'another API version', object: { ...stored, apiVersion: 'v2' }, stored, passes: false },
  {
    what: 'an annotation of Lodestone on an object whose annotations are not validated',
    object: withMetadata({ annotations: { 'lodestone.dev/volumes': 'y' } }),
    stored,
    passes: true,
  },
  {
    what: 'an annotation of Lodestone on a workload',
    object: withMetadata({ annotations: { 'lodestone.dev/volumes': 'y' } }),
    stored,
    parts: 'spec and annotations',
    passes: false,
  },
  {
    what: 'another annotation on a workload',
    object: withMetadata({ annotations: { 'lodestone.dev/volumes': 'x', other: 'y' } }),
    stored,
    parts: 'spec and annotations',
    passes: true,
  },
])('$what passes: $passes', ({ object, stored: before, parts = 'spec', passes }) => {
  expect(ratchet(denied, { object, stored: before }, parts)).toEqual(
    passes ? { kind: 'allow', warnings: ['a warning'] } : denied,
  )
})

test('an outcome without errors stays', () => {
  const patch: Outcome = { kind: 'patch', object: stored }
  expect(ratchet(patch, { object: stored, stored }, 'spec')).toBe(patch)
})

function reversed<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).reverse()) as T
}

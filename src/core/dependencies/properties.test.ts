/** Tests the properties of the dependencies of every workload. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NOTHING_RELATED } from '../../../test/builders.ts'
import { apiVersionOf, type K8sObject } from '../../api/meta.ts'
import { SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { interpretDependencies } from './interpret.ts'
import { dependencyKey } from './keys.ts'
import { interpretWorkload } from './workload.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd')
const named = fc.record({ name })
const environment = fc.oneof(
  fc.record({ valueFrom: fc.record({ configMapKeyRef: named }) }),
  fc.record({ valueFrom: fc.record({ secretKeyRef: named }) }),
  fc.record({ value: name }),
)
const environmentFrom = fc.oneof(fc.record({ configMapRef: named }), fc.record({ secretRef: named }))
const container = fc.record({ env: fc.array(environment), envFrom: fc.array(environmentFrom) })
const volume = fc.oneof(
  fc.record({ configMap: named }),
  fc.record({ secret: fc.record({ secretName: name }) }),
  fc.record({ persistentVolumeClaim: fc.record({ claimName: name }) }),
  fc.record({ csi: fc.record({ nodePublishSecretRef: named }) }),
  fc.record({
    projected: fc.record({
      sources: fc.array(fc.oneof(fc.record({ secret: named }), fc.record({ configMap: named }))),
    }),
  }),
  fc.record({
    ephemeral: fc.record({
      volumeClaimTemplate: fc.record({
        spec: fc.record({ dataSource: fc.record({ kind: fc.constant('PersistentVolumeClaim'), name }) }),
      }),
    }),
  }),
)
const template = fc.record({
  metadata: fc.record({ labels: fc.dictionary(name, name) }),
  spec: fc.record({
    serviceAccountName: name,
    imagePullSecrets: fc.array(named),
    containers: fc.array(container),
    initContainers: fc.array(container),
    volumes: fc.array(volume),
  }),
})
const job = fc.record({ tasks: fc.array(fc.record({ template })), volumes: fc.constant([]) })

function volcanoJob(spec: unknown): K8sObject {
  const metadata = { name: 'job', namespace: 'shop' }
  return { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', metadata, spec } as K8sObject
}

/** The same object with every list in another order. */
function shuffled(value: unknown, order: number[]): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item, i) => ({ item: shuffled(item, order), at: order[i % order.length] ?? 0 }))
    return items.sort((a, b) => a.at - b.at).map(({ item }) => item)
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member, order)]),
  )
}

describe('dependencies', () => {
  test('do not depend on the order of lists', () => {
    fc.assert(
      fc.property(job, fc.array(fc.integer(), { minLength: 1, maxLength: 9 }), (spec, order) => {
        expect(JSON.stringify(interpretWorkload(volcanoJob(shuffled(spec, order)), SHIPPED_KINDS).dependencies)).toBe(
          JSON.stringify(interpretWorkload(volcanoJob(spec), SHIPPED_KINDS).dependencies),
        )
      }),
    )
  })

  test('are sorted and unique, and the object is not changed', () => {
    fc.assert(
      fc.property(job, (spec) => {
        const raw = volcanoJob(spec)
        const before = structuredClone(raw)
        const dependencies = interpretDependencies(interpretWorkload(raw, SHIPPED_KINDS), NOTHING_RELATED)
        const keys = dependencies.map(dependencyKey)
        expect(keys).toEqual([...new Set(keys)].sort())
        expect(interpretDependencies(interpretWorkload(raw, SHIPPED_KINDS), NOTHING_RELATED)).toEqual(dependencies)
        expect(raw).toEqual(before)
      }),
    )
  })

  test('of an extended workload include those of the original one', () => {
    fc.assert(
      fc.property(job, template, (spec, added) => {
        const less = interpretDependencies(interpretWorkload(volcanoJob(spec), SHIPPED_KINDS), NOTHING_RELATED)
        const more = { ...spec, tasks: [...spec.tasks, { template: added }] }
        expect(interpretDependencies(interpretWorkload(volcanoJob(more), SHIPPED_KINDS), NOTHING_RELATED)).toEqual(
          expect.arrayContaining(less),
        )
      }),
    )
  })
})

/** JSON with the field names that are read, in unusual places. */
const words = fc.constantFrom(
  ...'metadata spec template templates tasks volumes containers env envFrom secretRef secret projected sources csi name'.split(
    ' ',
  ),
  ...'namespace labels annotations lodestone.dev/volumes ephemeral volumeClaimTemplate dataSource tls rules csi azureFile'.split(
    ' ',
  ),
  ...'driver executor volumeClaimTemplates imagePullSecrets serviceAccountName nodeStageSecretRef __proto__'.split(' '),
)
const { anything } = fc.letrec<{ anything: unknown }>((tie) => ({
  anything: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(null, true, 0, '', 'x', '{"name":"x"}', '{'),
    fc.array(tie('anything'), { maxLength: 3 }),
    fc.dictionary(words, tie('anything'), { maxKeys: 4 }),
  ),
}))

test.each(SHIPPED_KINDS.all)('a $type.kind of any shape is read without an error', ({ type }) => {
  fc.assert(
    fc.property(anything, anything, (metadata, spec) => {
      const raw = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, spec } as unknown as K8sObject
      const { dependencies } = interpretWorkload(raw, SHIPPED_KINDS)
      for (const reference of [...dependencies.references, ...dependencies.furtherReferences]) {
        expect(reference.name ?? reference.labelSelector).toBeTruthy()
      }
    }),
    { numRuns: 60 },
  )
})

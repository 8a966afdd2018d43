import { describe, expect, test } from 'vitest'
import { missingFeatures } from './server-features.ts'

/** The schemas of a hub, as the API server makes them of Karmada's CRDs. */
function schemasWith(suspension: object): Record<string, unknown> {
  const spec = { properties: { suspension: { properties: suspension } } }
  return {
    'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': { type: 'object' },
    'io.karmada.work.v1alpha2.ResourceBinding': { properties: { spec } },
  }
}

const hub = schemasWith({ dispatching: {}, scheduling: {} })
const oldHub = schemasWith({ dispatching: {} })

test.each([
  { name: 'a hub with everything', version: 'v1.28.15', bindingSchemas: hub, want: [] },
  { name: 'a cluster with everything', version: 'v1.28.0', want: [] },
  { name: 'a version of a vendor', version: 'v1.31.2-eks-7f9249a', bindingSchemas: hub, want: [] },
  { name: 'a newer version', version: 'v1.100.0', want: [] },
  { name: 'another major version', version: 'v2.0.0', want: [] },
  { name: 'a version that cannot be read', version: 'unknown', want: [] },
  { name: 'Kubernetes 1.27', version: 'v1.27.16', want: ['matchConditions'] },
  { name: 'Kubernetes 1.26', version: 'v1.26.15', want: ['matchConditions', 'schedulingGates'] },
  { name: 'Kubernetes 1.26 without gates', version: 'v1.26.15', usesGates: false, want: ['matchConditions'] },
  {
    name: 'a hub on Kubernetes 1.26, which runs no pods',
    version: 'v1.26.15',
    bindingSchemas: hub,
    want: ['matchConditions'],
  },
  { name: 'a hub of Karmada 1.12', version: 'v1.31.0', bindingSchemas: oldHub, want: ['schedulingSuspension'] },
  {
    name: 'a hub whose schemas are incomplete',
    version: 'v1.31.0',
    bindingSchemas: {},
    want: ['schedulingSuspension'],
  },
])('$name lacks $want', ({ version, bindingSchemas, usesGates = true, want }) => {
  const missing = missingFeatures({ version, usesGates, ...(bindingSchemas && { bindingSchemas }) })
  expect(missing.map(({ feature }) => feature)).toEqual(want)
})

describe('each message', () => {
  const all = [
    ...missingFeatures({ version: 'v1.20.0', usesGates: true }),
    ...missingFeatures({ version: 'v1.31.0', usesGates: true, bindingSchemas: oldHub }),
  ]

  test.each(all)('of $feature has the version to upgrade to', ({ message }) => {
    expect(message).toMatch(/; upgrade to (Kubernetes|Karmada) 1\.\d+/)
  })
})

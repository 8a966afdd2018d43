import { describe, expect, test } from 'vitest'
import { makeClaim, makeForeignClaim, makeNamespace } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { readClaimGrant } from './grant.ts'
import { workloadsOfClaim } from './keys.ts'
import { type ClaimRules, claimRefusal, permittedWorkloads } from './permission.ts'

const app = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
const own = { ...app, namespace: 'default' }

/** The rules if namespace `default` has this annotation; no other namespace is cached. */
function rules(annotation?: string, clusterScoped: ClaimRules['clusterScoped'] = 'forbidden'): ClaimRules {
  const grant = readClaimGrant(makeNamespace('default', annotation))
  return { clusterScoped, grantOf: (namespace) => (namespace === 'default' ? grant : undefined) }
}

const refusals = (claim: DataSourceClaim, given: ClaimRules) =>
  workloadsOfClaim(claim).flatMap((workload) => claimRefusal(claim, workload, given) ?? [])

describe('a claim is permitted to apply to', () => {
  test.each([
    { name: 'the workload of its own namespace', claim: makeClaim(), rules: rules(), want: [own] },
    {
      name: 'the workload of its own namespace, if it names that namespace',
      claim: makeClaim({ workload: own }),
      rules: rules(),
      want: [own],
    },
    {
      name: 'a cluster-scoped workload, if that is configured',
      claim: makeClaim(),
      rules: rules('', 'allowed'),
      want: [own, app],
    },
    { name: 'no workload of another namespace', claim: makeForeignClaim(), rules: rules(), want: [] },
    {
      name: 'no workload of another namespace if only a third one allows all claims',
      claim: makeClaim({ workload: { ...app, namespace: 'shop' } }),
      rules: rules('*'),
      want: [],
    },
    {
      name: 'a workload of a namespace that allows it',
      claim: makeForeignClaim(),
      rules: rules('team-a,other'),
      want: [own],
    },
    { name: 'a workload of a namespace that allows all', claim: makeForeignClaim(), rules: rules('*'), want: [own] },
    {
      name: 'no workload of a namespace that allows other namespaces only',
      claim: makeForeignClaim(),
      rules: rules('team-a'),
      want: [],
    },
    {
      name: 'no workload of a namespace with a malformed annotation',
      claim: makeForeignClaim(),
      rules: rules('other;'),
      want: [],
    },
    {
      name: 'no workload of another namespace, if only cluster-scoped workloads are allowed',
      claim: makeForeignClaim(),
      rules: rules(undefined, 'allowed'),
      want: [],
    },
  ])('$name', ({ claim, rules: given, want }) => {
    expect(permittedWorkloads(claim, given)).toEqual(want)
  })
})

describe('the refusal of a claim names the remedy:', () => {
  test.each([
    {
      name: 'without an annotation: the command that adds it',
      claim: makeForeignClaim(),
      rules: rules(),
      want: [
        'namespace default does not allow claims of namespace other; allow them with: kubectl annotate namespace default lodestone.dev/allow-claims-from=other',
      ],
    },
    {
      name: 'with an annotation: to extend it, since the command would replace it',
      claim: makeForeignClaim(),
      rules: rules('team-a'),
      want: [
        'namespace default does not allow claims of namespace other; add other to its annotation lodestone.dev/allow-claims-from',
      ],
    },
    {
      name: 'with a malformed annotation: the error in it',
      claim: makeForeignClaim(),
      rules: rules('Other'),
      want: [
        'annotation lodestone.dev/allow-claims-from of namespace default is malformed and allows nothing: "Other" is not the name of a namespace; write it like "team-a,team-b"',
      ],
    },
    {
      name: 'for a cluster-scoped workload: the configuration',
      claim: makeClaim(),
      rules: rules(),
      want: [
        'Deployment app is cluster-scoped, and claims apply to workloads of namespaces only; set claims.clusterScoped: allowed in the configuration of Lodestone',
      ],
    },
    { name: 'there is no refusal for a permitted claim', claim: makeForeignClaim(), rules: rules('other'), want: [] },
  ])('$name', ({ claim, rules: given, want }) => {
    expect(refusals(claim, given)).toEqual(want)
  })
})

import { describe, expect, test } from 'vitest'
import { makeClaim, makeForeignClaim, makeNamespace } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { readClaimGrant } from './grant.ts'
import { workloadsOfClaim } from './keys.ts'
import { type ClaimRules, permittedWorkloads, refusalOf } from './permission.ts'

const app = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
const own = { ...app, namespace: 'default' }

/** The rules where namespace `default` has this annotation, and no other namespace is known. */
function rules(annotation?: string, clusterScoped: ClaimRules['clusterScoped'] = 'forbidden'): ClaimRules {
  const grant = readClaimGrant(makeNamespace('default', annotation))
  return { clusterScoped, grantOf: (namespace) => (namespace === 'default' ? grant : undefined) }
}

const refusals = (claim: DataSourceClaim, given: ClaimRules) =>
  workloadsOfClaim(claim).flatMap((workload) => refusalOf(claim, workload, given) ?? [])

describe('a claim is permitted to apply to', () => {
  test.each([
    { name: 'the workload of its own namespace', claim: makeClaim(), rules: rules(), want: [own] },
    {
      name: 'it too where it names its own namespace',
      claim: makeClaim({ workload: own }),
      rules: rules(),
      want: [own],
    },
    { name: 'a cluster-scoped one if configured', claim: makeClaim(), rules: rules('', 'allowed'), want: [own, app] },
    { name: 'none of another namespace', claim: makeForeignClaim(), rules: rules(), want: [] },
    {
      name: 'none of another one although all are allowed elsewhere',
      claim: makeClaim({ workload: { ...app, namespace: 'shop' } }),
      rules: rules('*'),
      want: [],
    },
    { name: 'one of a namespace that allows it', claim: makeForeignClaim(), rules: rules('team-a,other'), want: [own] },
    { name: 'one of a namespace that allows all', claim: makeForeignClaim(), rules: rules('*'), want: [own] },
    { name: 'none of a namespace that allows others', claim: makeForeignClaim(), rules: rules('team-a'), want: [] },
    {
      name: 'none of a namespace whose annotation is malformed',
      claim: makeForeignClaim(),
      rules: rules('other;'),
      want: [],
    },
    {
      name: 'none of another namespace by what cluster-scoped ones are allowed',
      claim: makeForeignClaim(),
      rules: rules(undefined, 'allowed'),
      want: [],
    },
  ])('$name', ({ claim, rules: given, want }) => {
    expect(permittedWorkloads(claim, given)).toEqual(want)
  })
})

describe('a claim that is not permitted is refused with the way out', () => {
  test.each([
    {
      name: 'where the namespace has no annotation: the command that allows it',
      claim: makeForeignClaim(),
      rules: rules(),
      want: [
        'namespace default does not allow claims of namespace other; allow them with: kubectl annotate namespace default lodestone.dev/allow-claims-from=other',
      ],
    },
    {
      name: 'where it has one: that it is to be extended, since the command would replace it',
      claim: makeForeignClaim(),
      rules: rules('team-a'),
      want: [
        'namespace default does not allow claims of namespace other; add other to its annotation lodestone.dev/allow-claims-from',
      ],
    },
    {
      name: 'where that is malformed: what is wrong with it',
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
    { name: 'and nothing is said of what is permitted', claim: makeForeignClaim(), rules: rules('other'), want: [] },
  ])('$name', ({ claim, rules: given, want }) => {
    expect(refusals(claim, given)).toEqual(want)
  })
})

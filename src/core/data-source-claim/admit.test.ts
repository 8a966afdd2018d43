import { expect, test } from 'vitest'
import { makeClaim, makeForeignClaim } from '../../../test/builders.ts'
import type { PreferenceFigure } from '../../api/data-source-claim.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { admitClaim, type ClaimAdmissionInput } from './admit.ts'

const refusal = 'namespace default does not allow claims of namespace other'
const notPermitted: FieldError = {
  path: 'spec.workload',
  code: 'Forbidden',
  message: `${refusal}; if this was just done, retry in a few seconds`,
}
const invalid: FieldError = { path: 'spec.system', code: 'Invalid', message: 'must not be blank' }
const stored = makeForeignClaim({ resourceVersion: '7' })

test.each<{ name: string; input: Partial<ClaimAdmissionInput>; want: FieldError[] }>([
  { name: 'a claim without permission is rejected', input: {}, want: [notPermitted] },
  {
    name: 'for a cluster-scoped workload, the message does not suggest a retry',
    input: { claim: makeClaim(), refusal: 'Deployment app is cluster-scoped' },
    want: [{ ...notPermitted, message: 'Deployment app is cluster-scoped' }],
  },
  { name: 'a permitted claim is allowed', input: { refusal: undefined }, want: [] },
  {
    name: 'an update that names another workload is rejected',
    input: { stored: makeClaim({}, { namespace: 'other' }) },
    want: [notPermitted],
  },
  { name: 'an update that keeps the workload is allowed', input: { stored }, want: [] },
  {
    name: 'a malformed update is rejected',
    input: { stored, errors: [invalid] },
    want: [invalid],
  },
])('$name', ({ input, want }) => {
  const outcome = admitClaim({
    claim: makeForeignClaim(),
    stored: undefined,
    errors: [],
    refusal,
    hasPrices: false,
    ...input,
  })

  expect(outcome).toEqual(want.length === 0 ? { kind: 'allow' } : { kind: 'deny', errors: want })
})

test.each<{ preference: PreferenceFigure; hasPrices: boolean; warns: boolean }>([
  { preference: 'Cost', hasPrices: false, warns: true },
  { preference: 'Time', hasPrices: false, warns: true },
  { preference: 'Bytes', hasPrices: false, warns: false },
  { preference: 'Cost', hasPrices: true, warns: false },
])('a preference of $preference with prices $hasPrices warns: $warns', ({ preference, hasPrices, warns }) => {
  const claim = makeClaim({ policy: { enforcement: 'Preferred', preference } })
  const warnings = [
    `lodestone: spec.policy.preference: ${preference} counts as Bytes: set transferCosts in the configuration`,
  ]
  const input = { claim, stored: undefined, errors: [], refusal: undefined, hasPrices }
  expect(admitClaim(input)).toEqual({ kind: 'allow', ...(warns && { warnings }) })
})

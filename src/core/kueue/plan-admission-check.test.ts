/** Tests the condition Active of AdmissionChecks. */
import { expect, test } from 'vitest'
import { makeAdmissionCheck, NOW } from '../../../test/builders.ts'
import type { AdmissionCheck } from '../../api/kueue.ts'
import { planAdmissionCheck } from './plan-admission-check.ts'

const parameters = { apiGroup: 'example.com', kind: 'Config', name: 'mine' }

test.each<{ name: string; check: AdmissionCheck; unknown?: string; active: [string, string, string] }>([
  {
    name: 'is valid',
    check: makeAdmissionCheck(),
    active: ['True', 'Active', 'Lodestone answers when the data of a Workload is ready'],
  },
  {
    name: 'has parameters',
    check: makeAdmissionCheck({ parameters }),
    unknown: 'the CRD is being deleted',
    active: [
      'False',
      'BadParameters',
      'spec.parameters: Forbidden: lodestone.dev/data-ready has no parameters; remove them',
    ],
  },
  {
    name: 'cannot be answered',
    check: makeAdmissionCheck(),
    unknown: 'the CRD is being deleted',
    active: ['False', 'DataUnknown', 'the CRD is being deleted'],
  },
])('the condition Active of a check that $name', ({ check, unknown, active: [status, reason, message] }) => {
  const { actions } = planAdmissionCheck(check, unknown, NOW)
  const conditions = [{ type: 'Active', status, reason, message, observedGeneration: 1 }]
  expect(actions).toMatchObject([{ of: { name: 'data' }, subresource: 'status', patch: { status: { conditions } } }])
})

test.each([
  { name: 'of another controller', check: makeAdmissionCheck({ controllerName: 'example.com/other' }) },
  { name: 'that is being deleted', check: makeAdmissionCheck({}, { deletionTimestamp: '2026-01-02T03:00:00Z' }) },
])('a check $name is not written', ({ check }) => {
  expect(planAdmissionCheck(check, undefined, NOW).actions).toEqual([])
})

test('a condition that holds already is not written again', () => {
  const check = makeAdmissionCheck()
  const [action] = planAdmissionCheck(check, undefined, NOW).actions
  const { status } = action?.kind === 'patch' ? (action.patch as Pick<AdmissionCheck, 'status'>) : {}
  expect(status?.conditions).toHaveLength(1)
  expect(planAdmissionCheck({ ...check, ...(status && { status }) }, undefined, NOW + 1000).actions).toEqual([])
})

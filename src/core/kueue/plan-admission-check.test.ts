/** Tests the condition Active of AdmissionChecks. */
import { describe, expect, test } from 'vitest'
import { makeAdmissionCheck, NOW } from '../../../test/builders.ts'
import type { AdmissionCheck } from '../../api/kueue.ts'
import { deactivateCheck, planAdmissionCheck } from './plan-admission-check.ts'

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
  const stored = { ...check, metadata: { ...check.metadata, resourceVersion: '7' } }
  const { actions } = planAdmissionCheck(stored, unknown, NOW)
  const conditions = [{ type: 'Active', status, reason, message, observedGeneration: 1 }]
  expect(actions).toMatchObject([
    {
      of: { name: 'data' },
      subresource: 'status',
      patch: { metadata: { resourceVersion: '7' }, status: { conditions } },
    },
  ])
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

describe('after the removal of Lodestone', () => {
  const activeCheck = (status: 'True' | 'False', type = 'Active', controllerName?: string): AdmissionCheck => ({
    ...makeAdmissionCheck(controllerName ? { controllerName } : {}),
    status: {
      conditions: [
        { type: 'Other', status: 'False', reason: 'x', message: 'x', lastTransitionTime: '2026-01-02T03:00:00Z' },
        { type, status, reason: 'x', message: 'x', lastTransitionTime: '2026-01-02T03:00:00Z' },
      ],
    },
  })

  test('an active check is not active any more, and says how to remove it', () => {
    const check = activeCheck('True')
    expect(deactivateCheck(check, NOW)).toMatchObject({
      kind: 'patch',
      of: { name: 'data' },
      subresource: 'status',
      patch: {
        status: {
          conditions: [
            {
              type: 'Active',
              status: 'False',
              reason: 'Uninstalled',
              message: 'Lodestone was removed, and answers no Workload; remove the check from its ClusterQueues',
              lastTransitionTime: new Date(NOW).toISOString(),
            },
            check.status?.conditions?.[0],
          ],
        },
      },
    })
  })

  test.each([
    { name: 'that is not active', check: activeCheck('False') },
    { name: 'that was never active', check: makeAdmissionCheck() },
    { name: 'with an empty status', check: { ...makeAdmissionCheck(), status: {} } },
    { name: 'of which only another condition is True', check: activeCheck('True', 'Ready') },
    { name: 'of another controller', check: activeCheck('True', 'Active', 'example.com/other') },
  ])('a check $name is not written', ({ check }) => {
    expect(deactivateCheck(check, NOW)).toBeUndefined()
  })
})

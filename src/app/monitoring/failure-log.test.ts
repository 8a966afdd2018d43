/** Tests the log of failures that are retried: the remedy for a missing right, and causes that repeat. */
import { expect, test } from 'vitest'
import { ApiError } from '../../store/cluster/api-error.ts'
import { APPLY_ROLES } from '../../store/cluster/apply-roles.ts'
import { MissingPrerequisiteError } from '../../store/store.ts'
import { recordLog } from '../../telemetry/logger.fake.ts'
import { openFailureLog } from './failure-log.ts'

const FORBIDDEN = 'deployments.apps "web" is forbidden'

test.each([
  {
    name: 'a role lacks the right',
    error: rejection(
      403,
      `${FORBIDDEN}: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps"`,
    ),
    remedy: APPLY_ROLES,
  },
  { name: 'a ResourceQuota is used up', error: rejection(403, `${FORBIDDEN}: exceeded quota: pods`) },
  { name: 'a webhook rejects it', error: rejection(403, 'admission webhook "a.b.c" denied the request: no') },
  { name: 'the API server is overloaded', error: rejection(429, 'too many requests') },
])('a failure has the remedy of the roles only for a missing right: $name', ({ error, remedy }) => {
  const { log, lines } = recordLog('warn')
  openFailureLog(log, () => 0)(error, 'reconcile failed', { loop: 'pod' })
  expect(lines).toEqual([expect.objectContaining({ msg: 'reconcile failed', loop: 'pod', reason: error.message })])
  expect(lines[0]?.['remedy']).toBe(remedy)
})

test('a missing namespace is logged once, another failure each time', () => {
  const { log, lines } = recordLog('warn')
  const logFailure = openFailureLog(log, () => 0)
  const missing = new MissingPrerequisiteError('namespace a not found')
  for (const error of [missing, missing, rejection(409, 'conflict'), rejection(409, 'conflict')])
    logFailure(error, 'failed')
  expect(lines.map(({ reason }) => reason)).toEqual([missing.message, 'conflict', 'conflict'])
})

function rejection(status: number, message: string): ApiError {
  return new ApiError({ status, reason: '', message })
}

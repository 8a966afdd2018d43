import { expect, test } from 'vitest'
import { ApiError, RequestError } from '../../store/cluster/api-error.ts'
import { recordLog } from '../../telemetry/logger.fake.ts'
import { openMetrics } from '../../telemetry/metrics.ts'
import { observeStore } from './observe.ts'

test.each([
  { name: 'CRDs are missing', error: apiError(404), remedy: "apply the CRDs: 'lodestone manifests crds' prints them" },
  {
    name: 'a role is missing',
    error: apiError(403),
    remedy: expect.stringMatching(/'lodestone manifests rbac --config FILE'.*'rbac volumes --config FILE'/),
  },
  { name: 'the token is rejected', error: apiError(401), remedy: 'check the credentials in the kubeconfig' },
  { name: 'the API server is overloaded', error: apiError(429), remedy: undefined },
  { name: 'the connection breaks', error: new RequestError('GET /: reset'), remedy: undefined },
])('the log names the remedy when a list fails because $name', ({ error, remedy }) => {
  const { log, lines } = recordLog('warn')
  observeStore(log, openMetrics()).error?.({ kind: 'DataSource', message: 'list failed', error })
  expect(lines.map((line) => line['remedy'])).toEqual([remedy])
})

function apiError(status: number): ApiError {
  return new ApiError({ status, reason: '', message: `HTTP ${status}` })
}

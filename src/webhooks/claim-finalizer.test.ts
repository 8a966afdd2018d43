import { expect, test } from 'vitest'
import { makeClaim } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import type { AdmissionRequest } from '../api/admission.ts'
import { claimFinalizer } from './claim-finalizer.ts'
import { defaultSettings } from './context.fake.ts'

test.each([
  { loopsEnabled: true, want: 'patch' },
  // No loop would remove the finalizer.
  { loopsEnabled: false, want: 'allow' },
])('with loops.enabled $loopsEnabled, the answer for a new claim is $want', async ({ loopsEnabled, want }) => {
  const group = { group: 'datadependency.volcano.sh', version: 'v1alpha1' }
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { ...group, kind: 'DataSourceClaim' },
    resource: { ...group, resource: 'datasourceclaims' },
    operation: 'CREATE',
    object: makeClaim(),
  }
  const context = { ...defaultSettings, now: 0 }
  expect(claimFinalizer.review(request, { ...context, store: await storeOf(), loopsEnabled }).kind).toBe(want)
})
